"""Declarations of experiment files, and their validation rules. No torch."""

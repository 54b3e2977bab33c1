"""Validation rules between the sections of an experiment, one file per section."""

"""Measured times on disk."""

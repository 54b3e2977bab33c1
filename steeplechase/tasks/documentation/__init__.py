"""Shared by the three downstream tasks that are built from documentation."""

"""Puts this folder on the path, for the reports that the tests below build (`building.py`)."""

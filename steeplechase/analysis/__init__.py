"""Statistics: significance tests, intervals, models of curves. No files, no torch."""

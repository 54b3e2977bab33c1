"""Numbers alone: significance tests, intervals, models of curves. No files, no torch."""

"""The search space: a folder is an axis, a file is an option. Declarations only, no torch."""

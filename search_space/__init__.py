"""The search space: a folder is an axis, a class in it is an option. Declarations only, no torch."""

"""What may vary: a folder is an axis, a file is an option. Declarations only, no torch."""

"""Command line: one file per command of `steeplechase`."""

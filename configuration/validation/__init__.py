"""Rules between sections of an experiment, one file per section."""

"""Recorded learning curves: one file per format, synthetic curves, and features of configurations."""

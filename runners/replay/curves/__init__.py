"""Recorded learning curves: one file per format that can be read, and what a policy is judged by on them."""

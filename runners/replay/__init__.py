"""Search policies replayed on recorded curves, in seconds and without training."""

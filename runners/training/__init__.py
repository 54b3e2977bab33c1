"""Training: the loop, the optimiser, checkpoints."""

"""How a model is trained: the loop, the optimiser, checkpoints."""

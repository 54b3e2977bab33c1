"""What an experiment costs: FLOPs, what past runs took, and the time they predict."""

"""Cost estimates: FLOPs of stages, durations of past runs, and the predicted time."""

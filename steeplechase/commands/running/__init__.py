"""What `run` says before and after its stages."""

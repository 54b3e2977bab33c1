"""What happened: records, artifacts, and what follows from them alone."""

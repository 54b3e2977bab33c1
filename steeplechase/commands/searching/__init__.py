"""What `steeplechase search` compares: searches in results folders, and searches that are replayed on a table."""

"""The published data sets that the project reads: where each comes from, whether it is there, and how it is fetched."""

"""The published data sets that the project reads: where they come from, whether they are there, how to fetch them."""

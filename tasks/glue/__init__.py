"""GLUE as it is published (arXiv 1804.07461): its tables, its rows, its scores, and its submissions."""

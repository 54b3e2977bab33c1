"""GLUE (arXiv 1804.07461): its file formats, metrics, scores and submissions."""

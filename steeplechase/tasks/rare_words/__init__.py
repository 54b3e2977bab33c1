"""Data of rare-word embeddings: n-grams and contexts of words."""

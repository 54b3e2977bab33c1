"""Hugging Face folders: readers and writers for `export` and `import`."""

"""Exchange with Hugging Face folders: names and layouts of weights, and config.json, in both directions.

Source: transformers 5.23; `families` has a file per family of models. The tests compare with the library; the package
itself does not import it.
"""

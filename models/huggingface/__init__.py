"""Exchange with Hugging Face folders: names and layouts of weights, and config.json, in both directions.

Source: transformers 5.23 (models/convbert, models/electra, models/bert). The tests compare with the library; the
package itself does not import it.
"""

"""The border with Hugging Face folders: names and layouts of weights, and config.json, in both directions.

Read off the installed library (transformers 5.23: models/convbert, models/electra, models/bert) and checked against
it in tests; nothing here imports it.
"""

"""Contamination: sentences and word n-grams that dev sets share with the pretraining text."""

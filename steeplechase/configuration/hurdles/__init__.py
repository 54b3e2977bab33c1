"""Hurdles: rules for early stopping; a file of this folder declares one or more."""

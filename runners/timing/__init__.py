"""Timing: how long parts of a model take at each sequence length, beside the operations they need.

A timing experiment is a file of its own kind, recognised by its `timing` section. Nothing is pretrained.
"""

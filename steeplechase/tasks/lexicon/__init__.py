"""Lexicons of supersenses: which semantic classes a word may have, by word and by token of a vocabulary."""

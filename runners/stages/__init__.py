"""The stages of an experiment: pieces of work with declared inputs, each computed once."""

"""Corpora: one file per kind, found by its file."""

from tasks.corpora.option import CorpusOption

__all__ = ["CorpusOption"]

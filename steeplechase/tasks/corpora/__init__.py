"""Corpora: one file per kind, found by its file."""

from steeplechase.tasks.corpora.option import CorpusOption

__all__ = ["CorpusOption"]

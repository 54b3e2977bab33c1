"""English function words of more than three letters, which have no supersense. Levine et al. 2019, arXiv 1908.05646.

The list is this project's: closed classes, and adverbs of time, place and degree; SenseBERT's own was not found.
"""

from pathlib import Path

STOP_WORDS = frozenset(Path(__file__).with_name("stop_words.txt").read_text(encoding="utf-8").split())

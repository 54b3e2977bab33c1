"""The kinds of corpora, chosen by `kind`: the files of this folder, and those of plugins."""

from typing import Annotated

from steeplechase.foundation.schema import OPTION
from steeplechase.tasks.corpora.option import CorpusOption

Corpus = Annotated[CorpusOption, OPTION]
"""Each kind has `inputs()`, its identity for a cache key, and `documents(progress)`, in a fixed order."""

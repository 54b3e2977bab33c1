"""The kinds of corpora: a tagged union over `kind`."""

from typing import Annotated

from foundation.schema import OPTION
from tasks.corpora.documentation import DocumentationCorpus
from tasks.corpora.huggingface import HuggingFaceCorpus
from tasks.corpora.planted_cycle import PlantedCycle
from tasks.corpora.planted_pairs import PlantedPairs
from tasks.corpora.text_files import TextFilesCorpus

Corpus = Annotated[DocumentationCorpus | TextFilesCorpus | HuggingFaceCorpus | PlantedCycle | PlantedPairs, OPTION]
"""Each kind has `inputs()`, its identity for a cache key, and `documents(progress)`, in a fixed order."""

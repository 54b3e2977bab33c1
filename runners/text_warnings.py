"""What the text of a corpus is probably too short for, or loses, told before it is read whole.

BERT's uncased normalisation (arXiv 1810.04805, its released tokenizer) drops every mark without width of its own from
a decomposed text: accents of Latin, and vowels, tones and voicing marks of other scripts.
"""

import unicodedata
from collections import Counter
from collections.abc import Iterator

from steeplechase.configuration.experiment import Experiment
from steeplechase.foundation.errors import DataError
from steeplechase.tasks.corpora.assembly import VALIDATION_PERCENT
from steeplechase.tasks.corpora.text_files import TextFilesCorpus
from steeplechase.tasks.progress import silent

BYTES_PER_TOKEN = 4
"""About those of word pieces of English."""
ACCENTS = range(0x0300, 0x0370)
"""Of Latin, Greek and Cyrillic."""
MANY_LOST = 0.01
"""Share of a text's characters from which on the loss of marks is told."""
CHARACTERS_READ = 100_000
MARKS_SHOWN = 3


def text_warnings(experiment: Experiment) -> Iterator[str]:
    """Yield what the corpus is too short for by its size, and what the tokenizer removes of its first text."""
    yield from short_text(experiment)
    yield from lost_marks(experiment)


def short_text(experiment: Experiment) -> Iterator[str]:
    """Yield a line if the text is probably too short for the held-out sequences, by its size; nothing is read."""
    size, asked = experiment.corpus.bytes_of_text(), experiment.pretraining.held_out_sequences
    if size is None or not experiment.pretrains:
        return
    length = experiment.baseline.recipe.sequence_length
    about = size * VALIDATION_PERCENT // 100 // BYTES_PER_TOKEN // length
    if about < asked:
        yield (
            f"pretraining.held_out_sequences is {asked}, and the validation split, {VALIDATION_PERCENT}% of {size:,} "
            f"bytes of text, has about {about} sequences of {length} tokens. If it has fewer than asked, `run` stops "
            f"after reading it with the number to write; write fewer, such as {max(1, about // 2)}, or take more text"
        )


def lost_marks(experiment: Experiment) -> Iterator[str]:
    """Yield a line if the tokenizer removes many marks that are no accents from the corpus's first text."""
    corpus, tokenizer = experiment.corpus, experiment.tokenizer
    if not (isinstance(corpus, TextFilesCorpus) and experiment.pretrains and tokenizer.lowercases):
        return
    try:
        first = next(corpus.documents(silent), None)
    except DataError:  # an error elsewhere
        return
    text = "" if first is None else first.text[:CHARACTERS_READ]
    lost = Counter(filter(_is_removed, unicodedata.normalize("NFD", text)))
    if lost.total() > MANY_LOST * len(text):
        shown = ", ".join(unicodedata.name(mark) for mark, _ in lost.most_common(MARKS_SHOWN))
        yield (
            f"tokenizer.lowercase is true and removes {lost.total():,} marks from the {len(text):,} characters of "
            f"the corpus's first text ({shown}), so that words that differ in them are equal. Write lowercase: false"
        )


def _is_removed(character: str) -> bool:
    return unicodedata.category(character) == "Mn" and ord(character) not in ACCENTS

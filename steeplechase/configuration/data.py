"""`data:`, texts and vocabularies that arms are pretrained on in place of the experiment's, by name."""

from steeplechase.foundation.schema import Schema
from steeplechase.tasks.corpora.option import Corpus
from steeplechase.tasks.tokenizer import TokenizerDeclaration


class Data(Schema):
    """A text, a vocabulary, or both, for arms with its name: `data: NAME`.

    Every arm is evaluated on the held-out text of the experiment's corpus. What its training text repeats of that is
    left out. Held-out losses are comparable for one vocabulary; arms with another are compared on tasks alone.
    """

    corpus: Corpus | None = None
    """The training text; by default the experiment's."""
    tokenizer: TokenizerDeclaration | None = None
    """The vocabulary, learned from this text or given as a file; by default the experiment's, of its own text."""

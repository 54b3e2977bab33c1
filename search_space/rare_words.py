"""Embeddings of rare words from their form and their contexts, trained to mimic those of frequent words.

BERTRAM: Schick and Schütze 2020, arXiv 1910.07181; the form and attentive mimicking: 1904.01617. Constants marked
"release" are those of the authors' code.
"""

from typing import Literal

from pydantic import Field

from steeplechase.foundation.schema import Count, PositiveNumber, Schema

Variant = Literal["form", "context", "shallow", "replace", "add"]


class RareWords(Schema):
    """A model of word embeddings on a frozen encoder, and how it is trained: BERTRAM (arXiv 1910.07181)."""

    variant: Variant = "add"
    """What gives the embedding: `form`, the mean of n-grams; `context`, the output of the encoder at [MASK] in
    the word's place; `shallow`, a gated sum of both; `replace`, the output at the form in that place; `add`, the
    output at [MASK] with the form and a colon before the context."""
    smallest_ngram: Count = 3
    """Characters of the shortest n-gram of a word between its boundary marks."""
    largest_ngram: Count = 5
    """Characters of the longest n-gram."""
    ngram_words: Count = 4
    """Words that an n-gram must occur in to have an embedding. Default: BERTRAM's release."""
    fewest_contexts: Count = 4
    """Occurrences of a frequent word that training reads at least, drawn anew in every epoch. Default: BERTRAM's
    release."""
    most_contexts: Count = 32
    """Occurrences that training reads at most, and that an embedding is computed from. Default: BERTRAM's release."""
    context_length: int = Field(default=25, ge=4, le=2**53)
    """Tokens of a context, [CLS] and [SEP] included. Default: this project's."""
    context_epochs: Count = 5
    """Epochs of the first stage, which trains the context alone. Default: BERTRAM's release."""
    form_epochs: Count = 20
    """Epochs of the second stage, which trains the n-grams alone. Default: BERTRAM's release."""
    combination_epochs: Count = 3
    """Epochs of the third stage, which trains what combines both, and neither. Default: BERTRAM's release."""
    batch_words: Count = 64
    """Words of a batch. Default: this project's."""
    form_learning_rate: PositiveNumber = 0.01
    """Learning rate of the n-grams. Default: BERTRAM's release."""
    context_learning_rate: PositiveNumber = 1e-3
    """Learning rate of the map from the encoder's output, of the attention over contexts and of the gate. Default:
    this project's."""

"""A task that an experiment derives from another one: the same labels and metrics, read or asked differently.

`kind: rarified`, dev examples that depend on a rare synonym; `kind: rare_words`, with embeddings of these words:
Schick and Schütze 2020, BERTRAM, arXiv 1910.07181, section 4, dataset rarification and embeddings of the rare words.
"""

from dataclasses import replace
from typing import Literal

from pydantic import Field

from search_space.rare_words import RareWords
from steeplechase.foundation.schema import Count, Schema
from steeplechase.models.feature_layers import Features
from steeplechase.tasks.labelled.task import DownstreamTask
from steeplechase.tasks.lexicon.synonyms import Synonyms
from steeplechase.tasks.own_tasks.table import TableFormat

Usage = Literal["replace", "slash"]
FEATURE_FORMS = ("single", "pair", "tags", "span", "windows")
"""Forms of tasks whose head reads one vector per token of a sequence."""
RARIFIED_FORMS = ("single", "pair")
"""Forms of tasks that can be rarified: a label for one text or two."""


class DerivedTask(Schema):
    """A task of another name; its examples and labels are those of a known task or of a table."""

    of: str = Field(min_length=1, examples=["conll2003"])
    """The task by name: a known one, or a table of `own_tasks`."""

    def task(self, name: str, base: DownstreamTask) -> DownstreamTask:
        """Return the task of this name, derived from `base`: the same labels and metrics, no official scorer."""
        return replace(base, name=name, evaluate=None)


class FeatureHead(Schema):
    """Hidden states of the encoder, and the sizes of the BiLSTM that reads them."""

    encoder: Literal["frozen", "trained"] = "frozen"
    """Whether the encoder is fine-tuned too. BERT: frozen in Table 7, trained in Table 5 (`LTR + BiLSTM`)."""

    features: Features = "concat_last_four"
    """Hidden states that the BiLSTM reads; concat_last_four is the best row of BERT's Table 7."""
    lstm_width: Count = 768
    """Width of each direction of the BiLSTM."""
    lstm_layers: Count = 2
    """Layers of the BiLSTM."""


class FeatureTask(DerivedTask, FeatureHead):
    """A task of another name whose head reads a BiLSTM on hidden states."""

    kind: Literal["features"] = "features"
    """Chooses a BiLSTM on hidden states of the encoder."""

    def task(self, name: str, base: DownstreamTask) -> DownstreamTask:
        """Return the task of another name with the same examples, labels and metrics."""
        return replace(base, name=name, method="fine_tune", trains_encoder=self.encoder == "trained", evaluate=None)


class ResolvedFeatures(FeatureTask):
    """The task with the format of its table, for a stage."""

    table: TableFormat | None = None
    """None for a known task."""


class VariantTask(DerivedTask):
    """The same examples and metrics under another name: one model, fine-tuned with several settings."""

    kind: Literal["variant"] = "variant"
    """Chooses a task under another name."""


class ResolvedVariant(VariantTask):
    """The task with the format of its table, for a stage."""

    table: TableFormat | None = None
    """None for a known task."""


class RareSynonyms(Schema):
    """Which synonyms are rare."""

    rarer_than: Count = 100
    """Occurrences in the text below which a synonym is rare; the replaced word has as many or more."""
    fewest_occurrences: Count = 1
    """Occurrences that a rare synonym has at least, so that it has contexts. Default: this project's."""
    text_tokens: Count = 20_000_000
    """Tokens of the training text, from its beginning, in which words are counted and contexts looked for."""


class RarifiedTask(DerivedTask, RareSynonyms):
    """The dev examples of a task in which the label depends on a word with a rare synonym, with that synonym."""

    kind: Literal["rarified"] = "rarified"
    """Chooses the dev examples of another task that depend on a word with a rare synonym."""
    synonyms: Synonyms = Field(examples=[{"path": "$STEEPLECHASE_DATA/supersense/oewn/lemma_lexnames.tsv.xz"}])
    """The synonyms of words."""


class WordEmbeddings(Schema):
    """What gives rare words embeddings of their own, and how they are read."""

    embeddings: RareWords = Field(examples=[{"variant": "add"}])
    """The model of embeddings, trained on every pretrained encoder before it is fine-tuned."""
    usage: Usage = "replace"
    """`replace`: the embedding instead of the word's pieces; `slash`: the pieces, a slash and the embedding."""
    occurrences: Count = 100
    """Occurrences in the text that make a word of one token frequent; the model is trained on these."""
    most_words: Count = 5000
    """Frequent words at most, the most frequent ones."""


class RareWordsTask(DerivedTask, WordEmbeddings):
    """A rarified task whose rare words have embeddings of their own."""

    kind: Literal["rare_words"] = "rare_words"
    """Chooses the examples of a rarified task, with embeddings of its rare words."""

    def task(self, name: str, base: DownstreamTask) -> DownstreamTask:
        """Return the task of another name with the same examples."""
        return replace(base, name=name)


class ResolvedRarified(RareSynonyms):
    """A rarified task for a stage: without the file of synonyms, with the format of its table."""

    kind: Literal["rarified"] = "rarified"
    of: str
    """The task that is rarified."""
    words: WordEmbeddings | None = None
    """None: the rare words keep their pieces."""
    table: TableFormat | None = None
    """None for a known task."""

    def task(self, name: str, base: DownstreamTask) -> DownstreamTask:
        """Return the task of another name with the same labels and metrics."""
        return replace(base, name=name, evaluate=None)

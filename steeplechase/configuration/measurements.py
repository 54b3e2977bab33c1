"""`measure:`, descriptive measurements of the arms beyond losses and scores: each field of `Measures` is one."""

from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, ClassVar

from pydantic import Field

from search_space.candidate import Candidate
from search_space.objective import LanguageModel
from search_space.rare_words import RareWords
from steeplechase.configuration.latency import Latency
from steeplechase.configuration.measurement import Measurement
from steeplechase.configuration.plugins import plugin_of
from steeplechase.foundation.errors import DataError, Violation
from steeplechase.foundation.schema import Count, Name, Schema, Share
from steeplechase.tasks.language_model_texts import LanguageModelText
from steeplechase.tasks.own_measurements import PACKAGE
from steeplechase.tasks.own_metrics import FunctionReference, function_of, module_of

ATTENTION, RARE_WORDS, PERPLEXITY = "attention", "rare_words", "perplexity"
SPECIAL_TOKENS = 2  # [CLS] and [SEP] of a window


class AttentionDiagonal(Measurement):
    """Diagonal concentration C: attention mass at distance <= 4 over mass beyond. ConvBERT, 2008.02496, Table 8.

    The paper does not state which text and length it uses, or how layers, heads and the special tokens [CLS] and
    [SEP] enter. Here: unmodified held-out text at the baseline's sequence length, the same for every arm; the mass is
    summed over layers, heads and tokens, special tokens included. Reports also show the other definitions.
    """

    within: Count = 4
    """The largest distance in tokens that counts as near."""
    sequences: Count = 256
    """Number of held-out sequences, evenly spaced over the validation split."""
    stage: ClassVar[str] = ATTENTION
    of_pretraining: ClassVar[bool] = False

    def violations(self, length: int, arms: Mapping[str, Candidate]) -> Iterator[Violation]:
        """Yield the arms that cannot read the same sequences."""
        for name, candidate in arms.items():
            if candidate.architecture.too_long(length):
                positions = candidate.architecture.longest_sequence
                message = f"{name} has {positions} positions; C is compared at the baseline's {length} tokens"
                yield Violation((), message)


class WordMimicry(Measurement):
    """How well embeddings from the form and the contexts of words mimic those of frequent words that were left out.

    BERTRAM: Schick and Schütze 2020, arXiv 1910.07181. The frequent words of the pretraining text are split; a model
    of each variant is trained on one part and measured on the other, whose embeddings it has never seen.
    """

    variants: Mapping[Name, RareWords] = Field(min_length=1, examples=[{"add": {"variant": "add"}}])
    """The models by name; each is trained and measured on every trained encoder."""
    occurrences: Count = 100
    """Occurrences in the training text that make a word of one token frequent. Default: ours."""
    text_tokens: Count = 20_000_000
    """Tokens of the training text, from its beginning, in which words and their contexts are looked for."""
    most_words: Count = 5000
    """Words at most, the most frequent ones."""
    held_out_share: Share = Field(default=0.1, gt=0, lt=1)
    """Words that are left out of training and measured, as a share."""
    stage: ClassVar[str] = RARE_WORDS
    in_a_search: ClassVar[bool] = True

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the models."""
        return tuple(self.variants)


class MeasuredText(LanguageModelText):
    """A text, and the memory with which it is read."""

    memory: Annotated[int, Field(ge=0, le=2**20)] | None = Field(default=None, examples=[640])
    """Tokens of memory of arms that have one, in place of those of training (Transformer-XL); None: as trained."""

    @property
    def text(self) -> LanguageModelText:
        """The text alone."""
        return LanguageModelText(path=self.path, layout=self.layout)


class Perplexity(Measurement):
    """Perplexity per token and per word, and bits per character, of texts that no model has been trained on.

    Perplexities per token of two tokenizers are not comparable; those per word and bits per character are, as long as
    few tokens are unknown.
    """

    texts: Mapping[Name, MeasuredText] = Field(
        min_length=1, examples=[{"notes": {"path": "notes.txt", "layout": "plain"}}]
    )
    """The texts by name."""
    new_tokens: Count | None = Field(default=None, examples=[64])
    """Tokens that each window of the sequence length predicts, the rest of it being context. None: all of them."""
    stage: ClassVar[str] = PERPLEXITY

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the texts."""
        return tuple(self.texts)

    @property
    def sources(self) -> tuple[Callable[[], object], ...]:
        """The texts."""
        return tuple(text.inputs for text in self.texts.values())

    def violations(self, length: int, arms: Mapping[str, Candidate]) -> Iterator[Violation]:
        """Yield the arms without a probability of the text, and more new tokens than a window has."""
        inside = length - SPECIAL_TOKENS
        if self.new_tokens is not None and self.new_tokens > inside:
            message = f"{self.new_tokens} is more than the {inside} tokens of a window without [CLS] and [SEP]"
            yield Violation(("new_tokens",), message)
        others = [name for name, candidate in arms.items() if not isinstance(candidate.objective, LanguageModel)]
        if others:
            reason = "no language model, so that a text has no probability; allowed: language_model"
            yield Violation((), f"{', '.join(others)}: {reason}")


class OwnMeasurement(Measurement):
    """Numbers that functions of your own give for every trained encoder, from held-out text."""

    functions: Mapping[Name, FunctionReference] = Field(min_length=1, examples=[{"rank": "geometry:effective_rank"}])
    """The functions by name: `FILE:FUNCTION` of `tasks/own_measurements/FILE.py` in a plugin."""
    sequences: Count = 64
    """Number of held-out sequences that each gets, of the baseline's length, evenly spaced."""
    stage: ClassVar[str] = "own_measurement"
    of_pretraining: ClassVar[bool] = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the functions."""
        return tuple(self.functions)

    def violations(self, length: int, arms: Mapping[str, Candidate]) -> Iterator[Violation]:
        """Yield the arms that cannot read the same sequences, and the functions that no plugin has."""
        for name, candidate in arms.items():
            if candidate.architecture.too_long(length):
                message = f"{name} has {candidate.architecture.longest_sequence} positions; sequences have {length}"
                yield Violation((), message)
        for name, reference in self.functions.items():
            if plugin_of(module_of(reference, PACKAGE)) is None:
                file = reference.partition(":")[0]
                message = f"{reference}: no folder of `plugins` has tasks/own_measurements/{file}.py"
                yield Violation(("functions", name), message)
                continue
            try:
                function_of(reference, PACKAGE)
            except DataError as refusal:
                yield Violation(("functions", name), refusal.lines[0])


class Measures(Schema):
    """Measurements by name; only those that are set are made."""

    attention_diagonal: AttentionDiagonal | None = Field(default=None, examples=[{"within": 4}])
    """Diagonal concentration of attention, as in ConvBERT's Table 8; null to skip it."""
    rare_words: WordMimicry | None = Field(default=None, examples=[{"variants": {"add": {"variant": "add"}}}])
    """Embeddings of rare words from form and contexts, as in BERTRAM; null to skip it."""
    perplexity: Perplexity | None = Field(default=None, examples=[{"texts": {"notes": {"path": "notes.txt"}}}])
    """Perplexity and bits per character of texts, of arms that pretrain as language models; null to skip it."""
    own: OwnMeasurement | None = Field(default=None, examples=[{"functions": {"rank": "geometry:effective_rank"}}])
    """Numbers that functions of your own give for every trained encoder; null to skip it."""
    latency: Latency | None = Field(default=None, examples=[{"lengths": [64, 128, 256]}])
    """Seconds of one part of every arm's architecture at several sequence lengths; null to skip it."""

    @property
    def declared(self) -> dict[str, Measurement]:
        """The measurements that are set, by name."""
        values = {name: getattr(self, name) for name in type(self).model_fields}
        return {name: value for name, value in values.items() if value is not None}

    @property
    def of_trials(self) -> tuple[Measurement, ...]:
        """The declared measurements of each trained model."""
        return tuple(each for each in self.declared.values() if each.of_trials)

    @property
    def of_arms(self) -> tuple[Measurement, ...]:
        """The declared measurements of all arms together, outside trials."""
        return tuple(each for each in self.declared.values() if not each.of_trials)

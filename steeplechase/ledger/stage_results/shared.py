"""Results of the stages that all trials share: corpus, vocabulary, examples, contamination, evaluation set."""

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from steeplechase.analysis.proportions import wilson
from steeplechase.configuration.stage_result import Real, Result
from steeplechase.foundation.schema import Whole


class SplitCounts(Result):
    """How much one split of a corpus holds."""

    documents: Whole
    characters: Whole
    sources: Whole


class CorpusResult(Result):
    """A corpus, read and split."""

    finished: ClassVar[tuple[str, ...]] = ("corpus",)
    corpus: str
    """Its kind."""
    content_hash: str
    splits: Mapping[str, SplitCounts]
    exact_duplicates: Whole
    near_duplicates: Whole
    unreadable_files: Whole


class TokenCounts(Result):
    """How much one tokenised split holds."""

    documents: Whole
    tokens: Whole
    unknown: Whole
    single_sentence_documents: Whole | None = None
    """Documents that have one sentence, and so no two segments; None if no objective reads pairs of segments."""


class MentionCounts(Result):
    """The mentions of entities in one split."""

    kept: Whole
    left_out: Whole
    """They overlap another one, or begin or end inside a token."""
    without_other: Whole
    """They are kept, and never replaced: their type has no other entity."""


class TokensResult(Result):
    """The vocabulary, and the splits as tokens."""

    finished: ClassVar[tuple[str, ...]] = ("tokens",)
    vocabulary: str
    """Its hash."""
    vocabulary_size: Whole
    train: TokenCounts
    validation: TokenCounts
    validation_unigram_entropy: Real | None = None
    """Nats: the loss on validation tokens of their frequencies alone; None in ledgers from before it was computed."""
    mentions: Mapping[str, MentionCounts] | None = None
    """By split; None without a source of mentions."""


class EncodedPart(Result):
    """One part of a task's examples, as a model reads them."""

    examples: Whole
    truncated_share: Real | None = None
    """Of the inputs; None in ledgers from before it was counted."""
    answers_lost: Whole | None = None
    left_out: Whole | None = None
    """Rows of the file that are no example."""


class SquadPart(Result):
    """One part of SQuAD's questions, read in windows."""

    examples: Whole
    """Questions."""
    of: Whole
    windows: Whole
    unanswerable: Whole
    questions_cut: Whole
    answers_lost: Whole
    answers_moved_in_file: Whole
    answers_misplaced_in_file: Whole
    file: str
    official_name: bool
    notes: tuple[str, ...] = Field(strict=False)


class ExamplesResult(Result, extra="allow"):
    """The examples of one task. Parts beside train and dev are further fields, such as `test`."""

    finished: ClassVar[tuple[str, ...]] = ("examples",)
    __pydantic_extra__: dict[str, EncodedPart | SquadPart]

    task: str
    chance: Real | None
    bag_of_words: Mapping[str, Real] | None
    """Scores of the plain baseline by metric."""
    bag_of_words_examples: Whole | None = None
    """What the plain baseline learned from."""
    repeated_in_train: Whole | None = None
    """Of a user's table: dev examples that have the texts of a train example."""
    ngram: Mapping[str, Real] | None = None
    """Scores of an n-gram model of the pretraining text by metric; None where none is a reference of the task."""
    extractive: Mapping[str, Mapping[str, Real]] | None = None
    """Scores of the rules of extractive questions by rule and metric; None of other tasks, and in ledgers from before
    they were computed."""
    round_trip: Mapping[str, Real] | None = None
    """Scores of the dev targets encoded and decoded by metric; None of tasks without target texts."""
    rare_words: Whole | None = None
    """Of a rarified task: the different rare words in its dev examples."""
    train: EncodedPart | SquadPart
    dev: EncodedPart | SquadPart

    @property
    def parts(self) -> Mapping[str, EncodedPart | SquadPart]:
        """Every part by its name."""
        return {"train": self.train, "dev": self.dev, **self.__pydantic_extra__}


class ContaminationResult(Result):
    """The number of a task's dev examples that occur in the pretraining text."""

    finished: ClassVar[tuple[str, ...]] = ("contamination",)
    task: str
    examples: Whole
    told: Whole
    """Examples that are long enough to be searched for."""
    overlapping: Whole
    sentences: Whole
    runs: Whole
    run_words: Whole
    first: tuple[str, ...]
    """Locations of the first few, each with the document of the pretraining text."""

    @property
    def share(self) -> float:
        """The overlapping share of the examples that are long enough, from 0 to 1; 0 if none is."""
        return self.overlapping / self.told if self.told else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95% interval of the share; (0, 1) if no example is long enough."""
        return wilson(self.overlapping, self.told) if self.told else (0.0, 1.0)

    @property
    def share_with_interval(self) -> str:
        """The share as text: the counts, the share in per cent, its interval, and the examples that are too short."""
        low, high = self.interval
        counts = f"{self.overlapping} of {self.told} dev examples"
        short = f", {self.examples - self.told} more too short to tell" if self.told < self.examples else ""
        return f"{counts} ({100 * self.share:.2f}% [{100 * low:.2f}, {100 * high:.2f}]{short})"


class EvaluationSetResult(Result):
    """The held-out questions of an experiment."""

    finished: ClassVar[tuple[str, ...]] = ("evaluation_set",)
    sequences: Whole
    questions: Whole

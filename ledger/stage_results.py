"""What stages achieve: one frozen class per kind of stage and end, read and written as the JSON of a ledger.

A whole number stays whole and a real one real, and a field that was never written stays so: what is read is written
back as the same bytes. Losses and scores may be NaN or infinite in memory; `finite` is how a reader asks for them.
"""

from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Annotated

from pydantic import Field, FiniteFloat, model_validator

from foundation.schema import Count, JsonValue, Name, Schema

Real = int | float
Curve = tuple[tuple[Real, Real], ...]
"""Pairs of tokens seen and loss in nats."""

SCORES, CONSTANT = "scores", "constant"


def finite(value: Real | None) -> float | None:
    """Return a finite number, None for everything else: what is not finite never becomes a value."""
    return None if value is None or not isfinite(value) else float(value)


def finite_points(curve: Curve) -> Iterator[tuple[int, float]]:
    """Yield the points of a curve whose tokens and loss are finite."""
    for tokens, loss in curve:
        if isfinite(tokens) and isfinite(loss):
            yield int(tokens), float(loss)


class _Result(Schema, allow_inf_nan=True):
    """Unknown fields fail. `as_json` gives what was read, or what was set."""

    @property
    def as_json(self) -> dict[str, JsonValue]:
        """The result as a ledger keeps it."""
        return self.model_dump(exclude_unset=True)


class FailedStage(_Result):
    """The stage raised or its worker died: there is no result."""

    error: str
    trace: str = ""
    attempts: int = 1


class SplitCounts(_Result):
    """How much one split of a corpus holds."""

    documents: int
    characters: int
    sources: int


class CorpusResult(_Result):
    """A corpus, read and split."""

    corpus: str
    """Its kind."""
    content_hash: str
    splits: Mapping[str, SplitCounts]
    exact_duplicates: int
    near_duplicates: int
    unreadable_files: int


class TokenCounts(_Result):
    """How much one tokenised split holds."""

    documents: int
    tokens: int
    unknown: int


class TokensResult(_Result):
    """The vocabulary, and the splits as tokens."""

    vocabulary: str
    """Its hash."""
    vocabulary_size: int
    train: TokenCounts
    validation: TokenCounts


class EncodedPart(_Result):
    """One part of a task's examples, as a model reads them."""

    examples: int
    truncated_share: Real | None = None
    """Of the inputs; None in ledgers from before it was counted."""
    answers_lost: int | None = None
    left_out: int | None = None
    """Rows of the file that are no example."""


class SquadPart(_Result):
    """One part of SQuAD's questions, read in windows."""

    examples: int
    """Questions."""
    of: int
    windows: int
    unanswerable: int
    questions_cut: int
    answers_lost: int
    answers_moved_in_file: int
    answers_misplaced_in_file: int
    file: str
    official_name: bool
    notes: tuple[str, ...] = Field(strict=False)


class ExamplesResult(_Result, extra="allow"):
    """The examples of one task. Parts beside train and dev are further fields, such as `test`."""

    __pydantic_extra__: dict[str, EncodedPart | SquadPart]

    task: str
    chance: Real | None
    bag_of_words: Mapping[str, Real] | None
    """Scores of the plain baseline by metric."""
    bag_of_words_examples: int | None = None
    """What the plain baseline learned from."""
    train: EncodedPart | SquadPart
    dev: EncodedPart | SquadPart

    @property
    def parts(self) -> Mapping[str, EncodedPart | SquadPart]:
        """Every part by its name."""
        return {"train": self.train, "dev": self.dev, **self.__pydantic_extra__}


class ContaminationResult(_Result):
    """How many dev examples of a task the pretraining text holds."""

    task: str
    examples: int
    told: int
    """Examples that are long enough to tell."""
    overlapping: int
    sentences: int
    runs: int
    run_words: int
    first: tuple[str, ...]
    """The first few, and where their text stands."""


class EvaluationSetResult(_Result):
    """The held-out questions of an experiment."""

    sequences: int
    questions: int


class _Curves(_Result):
    train_curve: Curve = ()
    held_out_curve: Curve = ()

    @property
    def held_out(self) -> dict[int, float]:
        """Held-out loss in nats by tokens seen, where both are finite."""
        return dict(finite_points(self.held_out_curve))


class PretrainResult(_Curves):
    """A stage of pretraining that came to its end."""

    tokens: Real
    """Seen by then."""
    held_out_loss: Real
    """At the end, in nats."""


class DivergedPretraining(_Curves):
    """A stage of pretraining whose loss was not finite."""

    tokens: Real
    loss: str


Pretraining = PretrainResult | DivergedPretraining
"""What has curves."""


class SearchChoice(_Result):
    """What one combination of searched settings is chosen by."""

    score: Real | None
    n: int
    """Examples that the score is of."""
    reported: int
    """Examples that the reported scores are of."""
    chosen_on: str | None
    searched: Mapping[str, JsonValue]


class FineTuneResult(_Result, extra="allow"):
    """One task, learned with one seed. What is said of dev is said of a further part under `scores PART`."""

    __pydantic_extra__: dict[str, bool | Mapping[str, Real]]

    task: str
    seed: int
    examples: int
    scores: Mapping[str, Real]
    """On dev, by metric."""
    official: Mapping[str, Real] | None = None
    """All that SQuAD's official script gives."""
    choice: SearchChoice | None = None
    constant: bool | None = None
    """True where every example of dev was given the same answer."""
    others: Mapping[str, int] | None = None
    """Examples by further part."""
    null_threshold: Real | None = None
    """SQuAD 2.0: above these odds the answer is that there is none."""
    threshold_questions: int | None = None
    threshold_unanswerable: int | None = None

    @model_validator(mode="after")
    def _of_further_parts(self) -> "FineTuneResult":
        """Raise ValueError where a field is neither known nor that of a further part."""
        for name, value in self.__pydantic_extra__.items():
            field, _, part = name.partition(" ")
            if not part or field != (CONSTANT if isinstance(value, bool) else SCORES):
                raise ValueError(f"{name}: is no field of a fine-tuning, or holds another kind of value")
        return self

    def score(self, metric: str) -> float | None:
        """Return a score on dev, None where there is none that is finite."""
        return finite(self.scores.get(metric))

    @property
    def finite_scores(self) -> dict[str, float]:
        """Scores on dev, in the order of the metrics, and those on further parts under `metric part`."""
        found = dict(_finite_scores(self.scores, ""))
        for name, value in self.__pydantic_extra__.items():
            if not isinstance(value, bool):
                found |= _finite_scores(value, name.removeprefix(SCORES))
        return found

    @property
    def constant_parts(self) -> tuple[str, ...]:
        """The parts of which every example was given the same answer."""
        flags = [name for name, value in self.__pydantic_extra__.items() if isinstance(value, bool)]
        return (*([] if self.constant is None else ["dev"]), *(name.partition(" ")[2] for name in flags))


class DivergedFineTuning(_Result):
    """A fine-tuning whose loss or logits were not finite."""

    task: str | None = None
    seed: int | None = None
    step: int | None = None
    loss: str | None = None
    error: str | None = None
    """Where the logits were not finite."""


class AttentionResult(_Result):
    """Where the heads of a trained encoder attend."""

    sequences: int
    length: int
    within: int
    """The largest distance in tokens that counts as near."""
    heads: tuple[tuple[Real, Real, Real, Real, Real, Real], ...]
    """Layer, head, and as shares of a token's attention: near, far, and both without [CLS] and [SEP]."""
    maps: tuple[tuple[tuple[Real, ...], ...], ...]
    """By layer, in hundredths of even attention."""


class Machine(_Result):
    """What seconds depend on besides the declaration; seconds of two machines are never compared."""

    processor: str
    system: str
    instructions: str
    """The widest vector instructions that torch uses here."""
    device: str
    threads: Count
    clock: str
    python: str
    torch: str
    operators: str
    """What computes the windows of the convolutions: compiled operators, or torch."""
    code: str
    """sha256 of the source of `models`: what was timed."""


class LatencyResult(_Result):
    """One sequence length, timed whole: for every arm the seconds of one pass in each round, in the rounds' order."""

    length: Count
    arms: tuple[Name, ...]
    """In the experiment's order, the baseline first: text in a ledger keeps no order of keys."""
    seconds: Mapping[Name, tuple[Annotated[FiniteFloat, Field(gt=0)], ...]]
    machine: Machine


StageResult = (
    CorpusResult
    | TokensResult
    | ExamplesResult
    | ContaminationResult
    | EvaluationSetResult
    | PretrainResult
    | DivergedPretraining
    | FineTuneResult
    | DivergedFineTuning
    | AttentionResult
    | LatencyResult
    | FailedStage
)
"""How a stage ended; its kind and its status say which of these it is."""


def _finite_scores(scores: Mapping[str, Real], ending: str) -> Iterator[tuple[str, float]]:
    for metric in sorted(scores):
        value = finite(scores[metric])
        if value is not None:
            yield f"{metric}{ending}", value

"""Results of training: pretraining and fine-tuning, to their end or to where they diverged."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import ClassVar, Self, cast

from pydantic import Field, model_validator

from steeplechase.configuration.stage_result import Curve, Real, Result, finite, finite_points
from steeplechase.foundation.names import Sha256
from steeplechase.foundation.schema import JsonValue, Whole

SCORES, CONSTANT = "scores", "constant"
CURVES: Mapping[str, Curve | Mapping[str, Curve]] = {"train_curve": (), "held_out_curve": (), "term_curves": {}}
"""The fields of training that have curves, without any."""


class _Curves(Result):
    train_curve: Curve = ()
    held_out_curve: Curve = ()
    term_curves: Mapping[str, Curve] = Field(default_factory=dict)
    """The weighted terms of the training loss, by the names that the objective gives them; empty if it names none."""

    @property
    def held_out(self) -> dict[int, float]:
        """Held-out loss in nats by tokens seen, where both are finite."""
        return dict(finite_points(self.held_out_curve))

    @property
    def without_curves(self) -> Self:
        """The result without its curves, which are far larger than the rest."""
        held = {name: vars(self)[name] for name in self.model_fields_set if name not in CURVES}
        return cast("Self", type(self).model_construct(_one_set(frozenset(held)), **{**CURVES, **held}))


@cache
def _one_set(names: frozenset[str]) -> set[str]:
    """Return a set that all results with these fields share."""
    return {*names}


class ExampleValues(Result):
    """A file beside a result with one number per example and metric, `steeplechase.ledger.example_values`."""

    sha256: Sha256
    """Of the file."""
    metrics: tuple[str, ...] = Field(strict=False)
    """The rows of its array [metrics examples]."""
    examples: Whole


class PretrainResult(_Curves):
    """A stage of pretraining that came to its end."""

    finished: ClassVar[tuple[str, ...]] = ("pretrain", "long_sequence_phase", "unpruned")
    tokens: Real
    """Seen by then."""
    held_out_loss: Real
    """At the end, in nats."""
    held_out_losses: ExampleValues | None = None
    """The loss of every prediction that `held_out_loss` is the mean of; None in ledgers from before it was kept."""
    architecture: Mapping[str, JsonValue] | None = None
    """What pruning left of the candidate's architecture; None: all."""
    parameters: Whole | None = None
    """Of that architecture."""
    peak_bytes: Whole | None = None
    """Most bytes that tensors of the first process held at once on its GPU; None of a processor."""
    earlier_seconds: Real | None = None
    """Seconds of killed processes up to the checkpoint that it went on from; None of a stage of one process."""
    micro_batches_for_memory: Whole | None = None
    """The micro-batches that it went on with when a GPU's memory was too small for the declared ones; None: those."""

    @property
    def outcome(self) -> str:
        """The held-out loss, and whether more micro-batches than declared were needed."""
        more = self.micro_batches_for_memory
        needed = "" if more is None else f"; out of memory, so with {more} micro-batches"
        return f"held-out loss {self.held_out_loss:.4f}{needed}"


class DivergedPretraining(_Curves):
    """A stage of pretraining whose loss was not finite."""

    diverged: ClassVar[tuple[str, ...]] = ("pretrain", "long_sequence_phase", "unpruned")
    tokens: Real
    loss: str

    @property
    def outcome(self) -> str:
        """The tokens at which it diverged."""
        return f"diverged at {self.tokens} tokens"


Pretraining = PretrainResult | DivergedPretraining
"""What has curves."""


class SearchChoice(Result):
    """What one combination of searched settings is chosen by."""

    score: Real | None
    n: Whole
    """Examples that the score is of."""
    reported: Whole
    """Examples that the reported scores are of."""
    chosen_on: str | None
    searched: Mapping[str, JsonValue]


class TextSample(Result):
    """A source of dev, the text that it has, and the text that a model generated for it."""

    source: str
    reference: str
    generated: str


class FineTuneResult(Result, extra="allow"):
    """One task, learned with one seed. What is said of dev is said of a further part under `scores PART`."""

    finished: ClassVar[tuple[str, ...]] = ("fine_tune", "probe")
    __pydantic_extra__: dict[str, bool | Mapping[str, Real]]

    task: str
    seed: Whole
    examples: Whole
    scores: Mapping[str, Real]
    """On dev, by metric."""
    without_value: Mapping[str, str] | None = None
    """The metrics that the examples of dev give no value, each with the reason."""
    primary_metric: str | None = None
    """The primary metric of a task that the experiment declares; None: that of the known task."""
    official: Mapping[str, Real] | None = None
    """All that SQuAD's official script gives."""
    intervals: Mapping[str, tuple[Real, Real]] | None = Field(default=None, strict=False)
    """Of targets that are texts, by metric: the 95% interval of the dev score over resampled texts."""
    signatures: Mapping[str, str] | None = None
    """Of targets that are texts, by metric: what was computed, as sacrebleu writes it."""
    samples: tuple[TextSample, ...] | None = Field(default=None, strict=False)
    """Of targets that are texts: the first of dev, for the report."""
    target_losses: Mapping[str, Real] | None = None
    """Of targets that are texts, by part: the mean loss of their tokens in nats, ends included."""
    choice: SearchChoice | None = None
    own_metrics: Mapping[str, Sha256] | None = None
    """The user's metrics among the scores, as the experiment names them, each with the hash of its source."""
    constant: bool | None = None
    """True where every example of dev was given the same answer."""
    others: Mapping[str, Whole] | None = None
    """Examples by further part."""
    example_scores: Mapping[str, ExampleValues] | None = None
    """By part, dev included: the score of every example; None in ledgers from before it was kept."""
    null_threshold: Real | None = None
    """SQuAD 2.0: above these odds the answer is that there is none."""
    threshold_questions: Whole | None = None
    threshold_unanswerable: Whole | None = None

    @property
    def outcome(self) -> str:
        """The scores."""
        return ", ".join(f"{metric} {value:.1f}" for metric, value in self.scores.items())

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


class LinearProbeResult(FineTuneResult):
    """One task, by a linear classifier on the frozen encoder's last layer; nothing is drawn, so the seed is 0."""

    finished: ClassVar[tuple[str, ...]] = ("linear_probe",)
    layers: tuple[Real, ...] = ()
    """The primary metric on dev by layer, from the embeddings to the last."""


class MinimalPairsResult(FineTuneResult):
    """One task of minimal pairs, scored by the pretrained model; nothing is drawn, so the seed is 0."""

    finished: ClassVar[tuple[str, ...]] = ("minimal_pairs",)
    groups: Mapping[str, Real] = Field(default_factory=dict)
    """Accuracy on dev by phenomenon."""


class UntrainedResult(Result):
    """An encoder at its random initialisation, kept as a reference."""

    finished: ClassVar[tuple[str, ...]] = ("untrained",)
    parameters: Whole


class DivergedFineTuning(Result):
    """A fine-tuning whose loss or logits were not finite."""

    diverged: ClassVar[tuple[str, ...]] = ("fine_tune", "probe", "linear_probe", "minimal_pairs")
    task: str | None = None
    seed: Whole | None = None
    step: Whole | None = None
    loss: str | None = None
    error: str | None = None
    """Where the logits were not finite."""

    @property
    def outcome(self) -> str:
        """The update at which it diverged."""
        return "diverged" if self.step is None else f"diverged at update {self.step}"


def _finite_scores(scores: Mapping[str, Real], ending: str) -> Iterator[tuple[str, float]]:
    for metric in sorted(scores):
        value = finite(scores[metric])
        if value is not None:
            yield f"{metric}{ending}", value

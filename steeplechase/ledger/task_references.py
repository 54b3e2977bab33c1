"""The references of a task: what is scored without pretraining, or without a neural network.

A stage that made its examples before the rules of extractive questions were computed has them from the fact
`references`, which was measured later on the same examples and says when and by which command.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from steeplechase.configuration.metrics import PrimaryMetric
from steeplechase.configuration.stage_label import UNTRAINED, StageLabel
from steeplechase.foundation.names import Sha256
from steeplechase.foundation.recorded import Recorded
from steeplechase.foundation.schema import JsonValue, Schema
from steeplechase.ledger.records import Record, with_results
from steeplechase.ledger.stage_results import ExamplesResult, FineTuneResult, Real, finite
from steeplechase.tasks.references import RULES

CHANCE, BAG_OF_WORDS, NGRAM, UNTRAINED_ENCODER = "chance", "bag_of_words", "ngram", "untrained"
TITLES = {
    CHANCE: "chance",
    BAG_OF_WORDS: "bag of words",
    NGRAM: "n-gram",
    **RULES,
    UNTRAINED_ENCODER: "untrained",
}
REFERENCES = "references"
"""The fact with the scores of rules that were measured after the examples were made."""


PROBE_REFERENCE = "probe_reference"
"""The fact with the best score without pretraining on the task that hurdles compare; stops need a threshold above."""


class ProbeReference(Recorded):
    """What a hurdle's threshold must exceed to stop a trial by the score of a probe."""

    task: str
    reference: str | None
    """Name of the best reference; None of a task without any, whose probe stops nothing."""
    score: float | None

    @classmethod
    def of(cls, references: "TaskReferences") -> "ProbeReference":
        """Return the best of a task's references."""
        known = references.known if references.without_network else {}
        best = max(known, key=lambda name: known[name], default=None)
        return cls(task=references.task, reference=best, score=None if best is None else known[best])

    @classmethod
    def of_fact(cls, fact: JsonValue) -> "ProbeReference | None":
        """Return the parsed fact; None without it."""
        return None if fact is None else cls.of_record(fact)

    @property
    def text(self) -> str:
        """The reference with its score."""
        return (
            "any reference, as there is not one"
            if self.reference is None
            else (f"{TITLES[self.reference]}, {self.score:.1f}")
        )


class AddedReferences(Schema, extra="ignore"):
    """The scores of the rules on one task's examples, measured after these were made."""

    task: str
    examples: Sha256
    """The key of the stage that made them."""
    extractive: Mapping[str, Mapping[str, Real]]
    """By rule and metric."""
    measured: str
    """The day."""
    command: str


def with_added_references(shared: Sequence[Record], fact: JsonValue) -> tuple[Record, ...]:
    """Return the records of shared stages, with the scores of rules that a fact has of their examples."""
    found = [AddedReferences.model_validate(each) for each in fact] if isinstance(fact, list) else []
    added = {each.examples: each.extractive for each in found}
    return tuple(
        replace(record, result=record.result.model_copy(update={"extractive": added[record.key]}))
        if isinstance(record.result, ExamplesResult) and record.key in added and not record.result.extractive
        else record
        for record in shared
    )


@dataclass(frozen=True)
class TaskReferences:
    """Scores by a task's primary metric, from 0 to 100; None, or no seed, where there is no such reference."""

    task: str
    metric: str
    chance: float | None
    bag_of_words: float | None
    """Of tagged words: the most frequent tag of each."""
    ngram: float | None
    extractive: Mapping[str, float]
    """By rule; empty of tasks that ask for no span."""
    untrained: tuple[float, ...]
    """One value per untrained encoder."""

    @property
    def without_network(self) -> bool:
        """Whether there is a reference beside untrained encoders."""
        return bool(self.known.keys() - {UNTRAINED_ENCODER})

    @property
    def known(self) -> dict[str, float]:
        """The references that there are by name; of untrained encoders their mean."""
        untrained = fmean(self.untrained) if self.untrained else None
        found = {
            CHANCE: self.chance,
            BAG_OF_WORDS: self.bag_of_words,
            NGRAM: self.ngram,
            **self.extractive,
            UNTRAINED_ENCODER: untrained,
        }
        return {name: value for name, value in found.items() if value is not None}


def references_of(
    shared: Sequence[Record], primary: PrimaryMetric, tasks: Collection[str]
) -> dict[str, TaskReferences]:
    """Return the references of those tasks whose examples have been made, by the task's name.

    `shared` are the records of the stages that all trials share; an earlier version of the file may have had others.
    """
    found: dict[str, TaskReferences] = {}
    for made in (result for _, result in with_results(shared, ExamplesResult) if result.task in tasks):
        metric = primary(made.task)
        untrained = untrained_scores(shared, made.task, metric)
        words, ngram = (_score(scores, metric) for scores in (made.bag_of_words, made.ngram))
        rules = {rule: _score(scores, metric) for rule, scores in (made.extractive or {}).items()}
        extractive = {rule: value for rule, value in rules.items() if value is not None}
        found[made.task] = TaskReferences(made.task, metric, finite(made.chance), words, ngram, extractive, untrained)
    return dict(sorted(found.items()))


def untrained_scores(shared: Sequence[Record], task: str, metric: str) -> tuple[float, ...]:
    """Return a task's scores of untrained encoders, by seed."""
    scores = [
        (label.seed or 0, score)
        for record, result in with_results(shared, FineTuneResult)
        if (label := StageLabel.parse(record.label)).kind == UNTRAINED and label.task == task
        if (score := result.score(metric)) is not None
    ]
    return tuple(score for _, score in sorted(scores))


def _score(scores: Mapping[str, Real] | None, metric: str) -> float | None:
    return finite((scores or {}).get(metric))

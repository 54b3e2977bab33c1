"""The references of a task: what is scored without pretraining, or without a neural network."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from steeplechase.configuration.metrics import PrimaryMetric
from steeplechase.configuration.stage_label import UNTRAINED, StageLabel
from steeplechase.ledger.records import Record, with_results
from steeplechase.ledger.stage_results import ExamplesResult, FineTuneResult, Real, finite

CHANCE, BAG_OF_WORDS, NGRAM, UNTRAINED_ENCODER = "chance", "bag_of_words", "ngram", "untrained"
TITLES = {CHANCE: "chance", BAG_OF_WORDS: "bag of words", NGRAM: "n-gram", UNTRAINED_ENCODER: "untrained"}


@dataclass(frozen=True)
class TaskReferences:
    """Scores by a task's primary metric, from 0 to 100; None, or no seed, where there is no such reference."""

    task: str
    metric: str
    chance: float | None
    bag_of_words: float | None
    """Of tagged words: the most frequent tag of each."""
    ngram: float | None
    untrained: tuple[float, ...]
    """One value per untrained encoder."""

    @property
    def known(self) -> dict[str, float]:
        """The references that there are by name; of untrained encoders their mean."""
        untrained = fmean(self.untrained) if self.untrained else None
        found = {
            CHANCE: self.chance,
            BAG_OF_WORDS: self.bag_of_words,
            NGRAM: self.ngram,
            UNTRAINED_ENCODER: untrained,
        }
        return {name: value for name, value in found.items() if value is not None}


def references_of(shared: Sequence[Record], primary: PrimaryMetric) -> dict[str, TaskReferences]:
    """Return the references of every task whose examples have been made, by the task's name.

    `shared` are the records of the stages that all trials share.
    """
    found: dict[str, TaskReferences] = {}
    for _, made in with_results(shared, ExamplesResult):
        metric = primary(made.task)
        untrained = untrained_scores(shared, made.task, metric)
        words, ngram = (_score(scores, metric) for scores in (made.bag_of_words, made.ngram))
        found[made.task] = TaskReferences(made.task, metric, finite(made.chance), words, ngram, untrained)
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

"""Examples that a metric is the mean of, with their values by arm, where a ledger keeps these.

Held-out loss: the sequences of the evaluation set. A task's metric: its dev examples. A score: those of every task in
it. A metric that is no mean over examples, such as Matthews correlation or BLEU, has none.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from steeplechase.analysis.two_way_variance import grouped
from steeplechase.configuration.metrics import HELD_OUT_LOSS, SCORE, PrimaryMetric
from steeplechase.ledger.example_tables import ArmExamples, ExampleTable

POINTS = 100.0
"""Of a score; those of single examples are shares."""


@dataclass(frozen=True)
class SampledExamples:
    """One set of examples, answered by every model."""

    count: int
    unit: str
    """What is sampled: `held-out sequences`, or `dev examples of docs_answer`."""
    by_arm: Mapping[str, ArmExamples]
    """What the examples add to the metric: their own values of it, in a score divided by the number of tasks."""

    def has(self, arm: str) -> bool:
        """Whether an arm has values of two seeds, so that examples and seeds can be told apart."""
        return arm in self.by_arm and len(self.by_arm[arm].seeds) > 1


def sampled_examples(
    metric: str,
    tables: Mapping[str, ExampleTable],
    scored: Sequence[str],
    primary: PrimaryMetric,
    predictions_per_sequence: int = 1,
) -> tuple[SampledExamples, ...]:
    """Return the sets of examples of a metric that were kept.

    `scored`: the tasks of the score. With several predictions per sequence the sequences are the examples.
    """
    if metric == HELD_OUT_LOSS:
        losses = tables.get(HELD_OUT_LOSS)
        return () if losses is None else _of_losses(losses, predictions_per_sequence)
    tasks = scored if metric == SCORE else (metric,)
    found = []
    for task in tasks:
        name = task if ":" in task else f"{task}:{primary(task)}"
        if name in tables:
            of_dev = f"dev examples of {name.partition(':')[0]}"
            found += _sampled(tables[name], of_dev, POINTS / len(tasks))
    return tuple(found)


def _of_losses(losses: ExampleTable, predictions_per_sequence: int) -> tuple[SampledExamples, ...]:
    by_sequence = replace(losses, values=grouped(losses.values, predictions_per_sequence))
    return tuple(_sampled(by_sequence, "held-out sequences", 1.0))


def _sampled(table: ExampleTable, unit: str, share: float) -> list[SampledExamples]:
    """Return the examples of a table; none for a single one, which is no sample."""
    count = table.values.shape[1]
    arms = dict.fromkeys(replicate.arm for replicate in table.replicates)
    found = {arm: table.of_arm(arm) for arm in arms}
    scaled = {arm: replace(each, values=each.values * share) for arm, each in found.items()}
    return [SampledExamples(count, unit, scaled)] if count > 1 else []

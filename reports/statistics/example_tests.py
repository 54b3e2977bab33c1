"""Tests of pairs of trained models on the same examples, beside the difference of their arms over seeds and examples.

A pair is two checkpoints, compared by McNemar's exact test (signed ranks where values are no answers); that
generalises to further examples only (Dror et al. 2018). All pairs are one family of tests under Holm's correction.
The difference of the arms is the one that verdicts are by, beside the multi-bootstrap (Sellam et al. 2021, arXiv
2106.16163).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from analysis.difference import ALPHA, Difference, MeanTest
from analysis.effects import shared_seeds
from analysis.paired import holm
from analysis.paired_examples import mcnemar, sign_test, signed_rank_p
from analysis.two_way_bootstrap import TwoWayInterval, multi_bootstrap
from analysis.two_way_variance import grouped
from configuration.arm import BASELINE
from configuration.metrics import HELD_OUT_LOSS
from ledger.example_tables import ExampleTable
from reports.statistics.metrics import Metric
from reports.statistics.results import Results

MCNEMAR, SIGNED_RANKS = "McNemar", "signed ranks"
RESAMPLES = 1000
PREDICTION = "prediction"
"""Values of a regression task, which are no scores."""
Share = Callable[[str], float]
"""From an arm to the share of the error that its look spends, 1 without looks."""


@dataclass(frozen=True)
class ModelPair:
    """An arm's model and the baseline's of the same seeds, on the same examples."""

    better: int
    """Examples on which the arm's model is better."""
    worse: int
    p: float | None
    p_holm: float | None = None

    @property
    def significant(self) -> bool:
        """Whether the two models differ after Holm's correction."""
        return self.p_holm is not None and self.p_holm <= ALPHA


@dataclass(frozen=True)
class ArmDifference:
    """The difference of an arm and the baseline over seeds and examples, in the metric's unit."""

    difference: Difference
    """That of the report's other tables."""
    bootstrap: TwoWayInterval


@dataclass(frozen=True)
class ExampleTest:
    """An arm against the baseline on the examples of one metric."""

    metric: str
    arm: str
    test: str
    examples: int
    pairs: tuple[ModelPair, ...]
    of_arms: ArmDifference | None = None
    """None with fewer than two seeds of either arm."""

    @property
    def better(self) -> int:
        """Examples on which the arm's model is better, over all pairs."""
        return sum(pair.better for pair in self.pairs)

    @property
    def worse(self) -> int:
        """Examples on which the baseline's model is better, over all pairs."""
        return sum(pair.worse for pair in self.pairs)

    @property
    def p_models(self) -> float | None:
        """The smallest p of its pairs after Holm's correction: that of "no pair of models differs"."""
        return min((pair.p_holm for pair in self.pairs if pair.p_holm is not None), default=None)

    def significant_pairs(self, better: bool) -> int:
        """Return the number of pairs that differ significantly, with the arm's model better or worse."""
        return sum(pair.significant and (pair.better > pair.worse) == better for pair in self.pairs)


def compared_on_examples(results: Results) -> tuple[ExampleTest, ...]:
    """Return the tests on one metric of every task, and on the held-out loss by sequence; none in a search."""
    if results.is_search:
        return ()
    arms = [arm.name for arm in results.arms if arm.name != BASELINE]
    tests = example_tests([*_tested_tables(results)], arms, lambda arm: (1 - results.confidence(arm)) / ALPHA)
    return tuple(replace(each, of_arms=_of_arms(results, each)) for each in tests)


def _tested_tables(results: Results) -> Iterator[ExampleTable]:
    losses = results.example_tables.get(HELD_OUT_LOSS)
    if losses is not None:
        yield replace(losses, values=grouped(losses.values, results.predictions_per_sequence))
    for task in results.tasks:
        if found := _of_task(results, task):
            yield found


def _of_task(results: Results, task: str) -> ExampleTable | None:
    """Return the scores of a task's dev examples: those that are 0 or 1, else of the primary metric."""
    tables = [results.example_tables[name] for name in sorted(results.example_tables) if _is_score(name, task)]
    primary = f"{task}:{results.primary(task)}"
    return min(tables, key=lambda table: (not _is_answers(table), table.metric != primary), default=None)


def _is_score(metric: str, task: str) -> bool:
    """Whether a metric is a score of a task's dev examples; other parts have their name after a space."""
    of_task, _, name = metric.partition(":")
    return of_task == task and " " not in name and name not in ("", PREDICTION)


def _is_answers(table: ExampleTable) -> bool:
    return bool(np.isin(table.values, (0, 1)).all())


def example_tests(tables: Sequence[ExampleTable], arms: Sequence[str], share: Share) -> tuple[ExampleTest, ...]:
    """Return every arm's models against the baseline's on every table, with Holm's correction over all pairs."""
    tests = [_example_test(table, arm, share(arm)) for table in tables for arm in arms]
    tests = [each for each in tests if each.pairs]
    adjusted = iter(holm([pair.p for each in tests for pair in each.pairs]))
    return tuple(
        replace(each, pairs=tuple(replace(pair, p_holm=next(adjusted)) for pair in each.pairs)) for each in tests
    )


def _example_test(table: ExampleTable, arm: str, share: float) -> ExampleTest:
    loss, answers = table.metric == HELD_OUT_LOSS, _is_answers(table)
    rows = {replicate: row for row, replicate in enumerate(table.replicates)}
    pairs = []
    for replicate, row in rows.items():
        other = rows.get(replace(replicate, arm=BASELINE))
        if replicate.arm == arm and other is not None:
            pairs.append(_model_pair(table, (other, row) if loss else (row, other), answers, share))
    name = MCNEMAR if answers else SIGNED_RANKS
    return ExampleTest(table.metric, arm, name, table.values.shape[1], tuple(pairs))


def _model_pair(table: ExampleTable, rows: tuple[int, int], answers: bool, share: float) -> ModelPair:
    values, others = (table.values[row] for row in rows)
    counted = mcnemar(values, others) if answers else sign_test(values, others)
    p = counted.p if answers else signed_rank_p(values, others)
    return ModelPair(counted.larger, counted.smaller, None if p is None else min(1.0, p / share))


def _metric_of(results: Results, table: str) -> Metric:
    """Return the metric of a table of examples; a task's primary one has the task's name."""
    task, _, name = table.partition(":")
    return Metric(task if name and name == results.primary(task) else table)


def _of_arms(results: Results, found: ExampleTest) -> ArmDifference | None:
    metric = _metric_of(results, found.metric)
    sampled = results.examples(metric.name)
    if not sampled or not (sampled[0].has(found.arm) and sampled[0].has(BASELINE)):
        return None
    own, baseline = (sampled[0].by_arm[arm] for arm in (found.arm, BASELINE))
    values, others, paired = own.values, baseline.values, results.test is MeanTest.PAIRED
    if paired:
        shared = shared_seeds([own.seeds, baseline.seeds])
        values, others = own.at(shared), baseline.at(shared)
    if len(values) < 2:
        return None
    confidence = results.confidence(found.arm)
    bootstrap = multi_bootstrap(values, others, paired=paired, confidence=confidence, resamples=RESAMPLES)
    return ArmDifference(results.difference(found.arm, BASELINE, metric), bootstrap)

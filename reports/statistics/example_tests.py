"""Two readings of the same examples: pairs of trained models on them, and arms over seeds and examples.

The first compares two checkpoints by McNemar's exact test (signed ranks where values are no answers) and generalises
to further examples only (Dror et al. 2018). The second has seeds and examples as samples, as the multi-bootstrap
(Sellam et al. 2021, arXiv 2106.16163). Each reading is one family of tests under Holm's correction.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from analysis.difference import ALPHA, Difference, MeanTest
from analysis.effects import interval_of
from analysis.estimates import Estimates
from analysis.paired import holm
from analysis.paired_examples import mcnemar, sign_test, signed_rank_p
from analysis.two_way_bootstrap import TwoWayInterval, grouped, multi_bootstrap
from configuration.arm import BASELINE
from configuration.metrics import HELD_OUT_LOSS
from ledger.example_tables import ExampleTable
from ledger.stage_results import finite
from reports.statistics.example_intervals import in_points, wider_over_examples
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
class ArmTest:
    """The difference of an arm and the baseline over seeds and examples, in points."""

    difference: Difference
    degrees: float | None
    p: float | None
    bootstrap: TwoWayInterval
    p_holm: float | None = None


@dataclass(frozen=True)
class ExampleTest:
    """An arm against the baseline on the examples of one metric."""

    metric: str
    arm: str
    test: str
    examples: int
    pairs: tuple[ModelPair, ...]
    over_seeds: ArmTest | None
    """None with fewer than two seeds of either arm, and on the held-out loss, whose verdict is this test."""

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
    tables = [*_tested_tables(results)]
    return example_tests(tables, arms, results.test, lambda arm: (1 - results.confidence(arm)) / ALPHA)


def _tested_tables(results: Results) -> Iterator[ExampleTable]:
    losses = results.held_out_losses
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


def example_tests(
    tables: Sequence[ExampleTable], arms: Sequence[str], test: MeanTest, share: Share
) -> tuple[ExampleTest, ...]:
    """Return every arm against the baseline on every table; Holm's correction is over all tests of a reading."""
    tests = [_example_test(table, arm, test, share(arm)) for table in tables for arm in arms]
    tests = [each for each in tests if each.pairs or each.over_seeds]
    of_pairs = iter(holm([pair.p for each in tests for pair in each.pairs]))
    of_arms = iter(holm([each.over_seeds.p if each.over_seeds else None for each in tests]))
    return tuple(
        replace(
            each,
            pairs=tuple(replace(pair, p_holm=next(of_pairs)) for pair in each.pairs),
            over_seeds=_with_holm(each.over_seeds, next(of_arms)),
        )
        for each in tests
    )


def _with_holm(found: ArmTest | None, p_holm: float | None) -> ArmTest | None:
    return None if found is None else replace(found, p_holm=p_holm)


def _example_test(table: ExampleTable, arm: str, test: MeanTest, share: float) -> ExampleTest:
    loss, answers = table.metric == HELD_OUT_LOSS, _is_answers(table)
    rows = {replicate: row for row, replicate in enumerate(table.replicates)}
    pairs = []
    for replicate, row in rows.items():
        other = rows.get(replace(replicate, arm=BASELINE))
        if replicate.arm == arm and other is not None:
            pairs.append(_model_pair(table, (other, row) if loss else (row, other), answers, share))
    over_seeds = None if loss else _arm_test(table, arm, test, share)
    name = MCNEMAR if answers else SIGNED_RANKS
    return ExampleTest(table.metric, arm, name, table.values.shape[1], tuple(pairs), over_seeds)


def _model_pair(table: ExampleTable, rows: tuple[int, int], answers: bool, share: float) -> ModelPair:
    values, others = (table.values[row] for row in rows)
    counted = mcnemar(values, others) if answers else sign_test(values, others)
    p = counted.p if answers else signed_rank_p(values, others)
    return ModelPair(counted.larger, counted.smaller, None if p is None else min(1.0, p / share))


def _arm_test(table: ExampleTable, arm: str, test: MeanTest, share: float) -> ArmTest | None:
    points = in_points(table)
    found = wider_over_examples(points, arm, BASELINE, test)
    if found is None:
        return None
    own, baseline = sides = (points.of_arm(arm), points.of_arm(BASELINE))
    p, paired = finite(found.p().item()), test is MeanTest.PAIRED
    shared = [seed for seed in own.seeds if seed in baseline.seeds]
    values, others = (each.values[[each.seeds.index(s) for s in shared]] if paired else each.values for each in sides)
    bootstrap = multi_bootstrap(values, others, paired=paired, confidence=1 - ALPHA * share, resamples=RESAMPLES)
    return ArmTest(
        _difference(found, min(len(values), len(others)), share),
        finite(found.degrees.item()) if p is not None else None,
        None if p is None else min(1.0, p / share),
        bootstrap,
    )


def _difference(found: Estimates, n: int, share: float) -> Difference:
    value = found.value.item()
    if not found.standard_error.item() > 0:
        return Difference(n, value, value, value)
    return interval_of(found, n, 1 - ALPHA * share)

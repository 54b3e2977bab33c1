"""Tables of identical arms: rates of significant verdicts and of intervals that contain 0.

Every table passes through snapshot, results and comparisons. 80 tables are drawn from fixed seeds; 5% of them is
4 ± 3.9 at two standard errors. Under the paired t the arms have an effect of the seed in common, under Welch's none.
"""

from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest

from reports.statistics.comparisons import Verdict
from reports.statistics.metrics import Metric
from reports.statistics.reading import results_of
from reports.statistics.results import Results
from steeplechase.analysis.difference import MeanTest
from steeplechase.configuration.next_seeds import next_seeds
from steeplechase.configuration.seeds import SequentialSeeds
from tests.factories.reports import Trial, document, primary, snapshot

TABLES, ARMS = 80, 5
TASKS = ("docs_answer",)
NAMES = ("baseline", *(f"same-{number}" for number in range(1, ARMS)))
FALSE_ALARMS = (0.005, 0.05 + 0.049)
"""Welch's t is below its level at few seeds, and splitting α over looks is below it by design."""
RULES = {
    "until decided": SequentialSeeds(start=3, max=9, step=3, margin={"held_out_loss": 0.02}, unseen_mode=1.0),
    "until decided on score": SequentialSeeds(start=3, max=9, step=3, margin={"score": 0.5}, unseen_mode=1.0),
}
MOST = 9
LOSS = Metric("held_out_loss")


@cache
def drawn(number: int, test: MeanTest) -> tuple[np.ndarray, np.ndarray]:
    """Return the random effects of pretraining (arm, seed, metric) and fine-tuning (arm, seed, task, seed)."""
    random = np.random.default_rng(number)
    of_seed, of_arm = random.normal(0, 1, (MOST, 2)), random.normal(0, 1, (ARMS, MOST, 2))
    shared = of_seed if test is MeanTest.PAIRED else 0.0
    return shared + of_arm, random.normal(0, 1, (ARMS, MOST, 1, 2))


def table(number: int, test: MeanTest, counts: dict[str, int], **settings: object) -> Results:
    """Return a table of identical arms with that many seeds each and two fine-tuning seeds per task."""
    pretrained, tuning = drawn(number, test)
    trials = []
    for position, name in enumerate(NAMES):
        for seed in range(counts[name]):
            values = pretrained[position, seed]
            trial = Trial(name, seed + 1).pretrained(6.0 + 0.02 * values[0])
            for task, value, tuned in zip(TASKS, values[1:], tuning[position, seed], strict=True):
                for tuning_seed in (1, 2):
                    score = 60.0 + value + tuned[tuning_seed - 1]
                    trial.tuned(task, tuning_seed, **{primary(task): float(score)})
            trials.append(trial)
    seeds = tuple(range(1, min(counts.values()) + 1))
    resolved = document(TASKS, seeds, comparison=str(test), **settings)
    view = snapshot(trials, {name: {} for name in NAMES}, TASKS, resolved=resolved)
    return results_of(view, primary)


def measured(number: int, test: MeanTest, position: int, count: int) -> dict[str, dict[int, float]]:
    """Return an arm's first values by metric and seed, as in the ledger of such a table."""
    pretrained, tuning = drawn(number, test)
    losses, tasks = (
        6.0 + 0.02 * pretrained[position, :, 0],
        60.0 + pretrained[position, :, 1:] + tuning[position].mean(axis=2),
    )
    columns = {"held_out_loss": losses, "score": tasks.mean(axis=1), **dict(zip(TASKS, tasks.T, strict=True))}
    return {name: dict(enumerate(column[:count].tolist(), 1)) for name, column in columns.items()}


def until_decided(number: int, test: MeanTest, rule: SequentialSeeds) -> Results:
    """Return a table whose seeds were added by the rule."""
    counts = dict.fromkeys(NAMES, rule.start)
    pretraining = {"tokens": 2_000_000, "seeds": {"until_decided": rule.model_dump()}}
    while True:
        run = {name: set(range(1, count + 1)) for name, count in counts.items()}
        values = {name: measured(number, test, position, counts[name]) for position, name in enumerate(NAMES)}
        added = next_seeds(rule, values, run, "baseline", test)
        if not added:
            return table(number, test, counts, pretraining=pretraining)
        counts = {name: counts[name] + len(added.get(name, ())) for name in NAMES}


@cache
def tables(kind: str, test: MeanTest) -> tuple[Results, ...]:
    if kind in RULES:
        return tuple(until_decided(number, test, RULES[kind]) for number in range(TABLES))
    return tuple(table(number, test, dict.fromkeys(NAMES, int(kind[0]))) for number in range(TABLES))


@pytest.fixture(scope="module", autouse=True)
def forgotten() -> Iterator[None]:
    """Forget the tables at the end: garbage collections of later tests would visit them."""
    yield
    tables.cache_clear()
    drawn.cache_clear()


KINDS = [("3 seeds", MeanTest.PAIRED), ("5 seeds", MeanTest.WELCH), *((kind, MeanTest.PAIRED) for kind in RULES)]


@pytest.mark.parametrize(("kind", "test"), KINDS)
def test_false_positives_are_at_most_one_table_in_twenty_and_intervals_hold_the_truth(
    kind: str, test: MeanTest
) -> None:
    alarms, held = [], []
    for results in tables(kind, test):
        cells = [(arm, Metric(name)) for arm, name in results.families[0]]
        alarms.append(any(results.comparison(*cell).significant for cell in cells))
        differences = [results.effect(*cell).difference for cell in cells]
        held += [each.low <= 0 <= each.high for each in differences]  # type: ignore[operator]
    low, high = FALSE_ALARMS
    assert low <= float(np.mean(alarms)) <= high
    assert float(np.mean(held)) >= 0.93


@pytest.mark.parametrize("test", MeanTest)
def test_sequential_decisions_use_the_values_of_the_table(test: MeanTest) -> None:
    results = table(0, test, dict.fromkeys(NAMES, 4))
    for position, name in enumerate(NAMES):
        for metric, values in measured(0, test, position, 4).items():
            assert results.values[name][metric] == pytest.approx(values)


def test_seeds_are_added_where_they_are_needed_and_a_margin_ends_it() -> None:
    ends = [results.snapshot for results in tables("until decided", MeanTest.PAIRED)]
    counts = {len(end.of_arm(name)) for end in ends for name in NAMES[1:]}
    assert counts == {3, 6, 9}
    verdicts = {
        results.comparison(name, LOSS).verdict
        for results in tables("until decided", MeanTest.PAIRED)
        for name in NAMES[1:]
    }
    assert Verdict.NO_DIFFERENCE in verdicts


@pytest.mark.parametrize("test", MeanTest)
def test_a_true_difference_is_detected(test: MeanTest) -> None:
    result = 0
    for number in range(10):
        results = table(number, test, dict.fromkeys(NAMES, 5))
        moved = {seed: value - 0.2 for seed, value in results.values["same-1"]["held_out_loss"].items()}
        results.values["same-1"]["held_out_loss"].update(moved)  # type: ignore[attr-defined]
        result += results.comparison("same-1", LOSS).verdict is Verdict.HELPS
    assert result >= 8

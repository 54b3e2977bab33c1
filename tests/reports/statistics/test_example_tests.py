"""Error rates of both readings of the same examples, by simulation of arms that do not differ."""

import numpy as np
import pytest

from analysis.difference import MeanTest
from ledger.example_tables import ExampleTable, Replicate
from reports.statistics import example_tests
from reports.statistics.example_tests import ExampleTest

ARMS, TASKS, EXAMPLES, FAMILIES = ("baseline", "a", "b", "c", "d"), ("first", "second"), 200, 200
TWO_STANDARD_ERRORS = 2 * (0.05 * 0.95 / FAMILIES) ** 0.5


def answers(task: str, seeds: int, of_seed: float, random: np.random.Generator) -> ExampleTable:
    """Return the answers of identical arms, whose models differ by a normal effect of the seed on a latent scale."""
    models = tuple(Replicate(arm, seed, 1) for arm in ARMS for seed in range(seeds))
    difficulty, effects = random.normal(0, 1, EXAMPLES), random.normal(0, of_seed, (len(models), 1))
    correct = 0.7 + difficulty + effects + random.normal(0, 1, (len(models), EXAMPLES)) > 0
    return ExampleTable(f"{task}:accuracy", models, correct.astype(np.float32))


def families(seeds: int, of_seed: float, test: MeanTest) -> tuple[float, float]:
    """Return the share of families with a detection: of pairs of models, and of arms."""
    random, detected = np.random.default_rng(4), np.zeros(2)
    for _ in range(FAMILIES):
        tables = [answers(task, seeds, of_seed, random) for task in TASKS]
        found = example_tests.example_tests(tables, ARMS[1:], test, lambda _: 1.0)
        detected += (any(pair.significant for each in found for pair in each.pairs), any(map(detects, found)))
    models, arms = detected / FAMILIES
    return float(models), float(arms)


def detects(found: ExampleTest) -> bool:
    p = found.over_seeds.p_holm if found.over_seeds else None
    return p is not None and p <= 0.05


@pytest.mark.parametrize(("seeds", "test"), [(3, MeanTest.WELCH), (3, MeanTest.PAIRED), (5, MeanTest.WELCH)])
def test_families_over_seeds_and_examples_keep_5_percent_and_those_of_models_only_where_seeds_have_no_effect(
    seeds: int, test: MeanTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(example_tests, "RESAMPLES", 2)  # the bootstrap decides nothing
    for of_seed in (0.0, 0.3):
        models, arms = families(seeds, of_seed, test)
        assert arms <= 0.05 + TWO_STANDARD_ERRORS
        if of_seed:
            assert models > 0.9  # models do differ, arms do not
        else:
            assert models <= 0.05 + TWO_STANDARD_ERRORS


@pytest.mark.parametrize("test", MeanTest)
def test_a_difference_between_arms_is_detected(test: MeanTest) -> None:
    table = answers("first", 5, 0.1, np.random.default_rng(6))
    better = [replicate.arm == "a" for replicate in table.replicates]
    values = np.where(np.array(better)[:, None], np.maximum(table.values, np.arange(EXAMPLES) % 2), table.values)
    found = example_tests.example_tests(
        [ExampleTable(table.metric, table.replicates, values)], ARMS[1:], test, lambda _: 1.0
    )
    assert [each.arm for each in found if detects(each)] == ["a"]
    (first,) = (each.over_seeds for each in found if each.arm == "a")
    assert first is not None
    assert first.difference.low > 0 < first.bootstrap.low  # type: ignore[operator]

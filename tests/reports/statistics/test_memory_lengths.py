"""Perplexity by memory: each arm's points over seeds, the interval of the mean, and when there is no curve."""

import math
from dataclasses import replace
from typing import Any

import pytest
from scipy import stats

from reports.report import Report, build
from reports.sections.perplexity import FIGURE, MemoryLengths
from reports.statistics.experiment import experiment_of
from search_space.overrides import apply
from tests.factories.reports import Trial, document, figure_data, snapshot

NATS = {("baseline", 1): 100.0, ("baseline", 2): 110.0, ("none", 1): 120.0, ("none", 2): 130.0}
GAIN = {"short": 0.0, "as_trained": 5.0, "long": 10.0}  # nats
SIZES = {"layout": "plain", "tokens": 50, "words": 40, "characters": 200, "unknown": 0, "length": 16}
RELATIVE = {"position": {"kind": "relative"}, "visibility": "left_to_right", "segments": 0}
TEXTS = {
    "short": {"path": "texts/notes.txt", "memory": 4},
    "as_trained": {"path": "texts/notes.txt"},
    "same": {"path": "texts/notes.txt", "memory": 16},
    "long": {"path": "texts/notes.txt", "memory": 64},
    "other": {"path": "texts/other.txt"},
}


def report(texts: dict[str, Any] = TEXTS) -> Report:
    trials = []
    for (arm, seed), nats in NATS.items():
        trial = Trial(arm, seed).pretrained(5.0)
        for name in texts:
            gain = GAIN.get(name, GAIN["as_trained"]) if arm == "baseline" else 0.0
            trial = trial.record("perplexity", f"perplexity {name}", {"text": name, "nats": nats - gain, **SIZES})
        trials.append(trial)
    language_model = {"kind": "language_model", "packing": {"kind": "consecutive"}}
    resolved = document(
        baseline={"architecture": {"depth": 4, **RELATIVE, "memory": 16}, "objective": language_model},
        design={"kind": "list", "arms": {"none": {"memory": 0}}},
        measure={"perplexity": {"texts": texts}},
    )
    found = snapshot(trials, {"baseline": {}, "none": {"memory": 0}}, resolved=resolved)
    baseline = experiment_of(resolved).baseline
    arms = [replace(arm, candidate=apply(baseline, arm.changes)) for arm in found.arms]
    return build(replace(found, arms=tuple(arms)))


def lengths() -> MemoryLengths:
    found = figure_data(report(), MemoryLengths)
    assert found is not None
    return found


def test_an_arm_with_a_memory_has_a_point_for_every_length_and_an_arm_without_one_for_none() -> None:
    curves = {curve.arm: curve for curve in lengths().curves}
    assert [point.memory for point in curves["baseline"].points] == [4, 16, 64]
    assert [point.memory for point in curves["none"].points] == [0]
    assert (curves["baseline"].trained_with, curves["none"].trained_with) == (16, 0)


def test_each_point_has_every_seed_once_and_the_interval_of_the_mean() -> None:
    table = FIGURE.table(lengths())
    rows = {(row["arm"], row["memory"]): row for row in table.rows}
    values = [math.exp(nats / 50) for nats in (95.0, 105.0)]
    row = rows["baseline", 16]
    assert (row["n"], row["mean"]) == (2, pytest.approx(sum(values) / 2))
    low, high = stats.t.interval(0.95, 1, loc=sum(values) / 2, scale=stats.sem(values))
    assert (row["low"], row["high"]) == (pytest.approx(low), pytest.approx(high))


def test_a_text_that_is_read_with_one_length_has_no_curve() -> None:
    assert all(
        picture.name != "perplexity_by_memory" for picture in report({"as_trained": TEXTS["as_trained"]}).pictures
    )

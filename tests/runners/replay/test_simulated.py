"""Searches simulated on a tabulated space: what `run` does with the same losses, and tables of other spaces."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from runners.dag import SharedStages, shared_stages, trial_stages
from runners.replay.curves.recorded import from_table
from runners.replay.recorded_decisions import reproduce
from runners.replay.simulated import BASELINE_KEY, Table, simulated, simulated_trace
from runners.search.encoding import point_of
from runners.stage_labels import pretrain_labels
from runners.work_queue import StageTask
from search_space.candidate import Candidate
from steeplechase.analysis.search_trace import SearchTrace
from steeplechase.configuration.experiment import Experiment
from steeplechase.foundation.canonical import canonical
from steeplechase.foundation.errors import ConfigurationError, DataError
from steeplechase.ledger.search_trace import recorded_trace
from steeplechase.ledger.snapshot import snapshot
from steeplechase.ledger.trial_history import TrialHistory
from tests.factories import simulated_training as trained
from tests.factories.simulated_training import Track, opened

CELLS = {
    "layers": {
        "kind": "cells",
        "blocks": 2,
        "cells": [1],
        "layers": ["s", "f"],
        "widths": [1],
        "activations": ["gelu"],
    }
}
TOURNAMENT = {"population": 4, "tournament_size": 2, "mutation_rate": 0.2}
DESIGN = {
    "kind": "search",
    "structure": CELLS,
    "space": {"bottleneck_ratio": [1, 2]},
    "max_candidates": 60,
    "trainings": 4,
}
POLICIES = [
    {"policy": "progressive_hurdles", "tournament": {**TOURNAMENT, "children_per_hurdle": 2}},
    {"policy": "tournament", "tournament": {**TOURNAMENT, "trained_share": 0.5}},
    {"policy": "tournament", "tournament": {**TOURNAMENT, "initial_population": "random"}},
]


@dataclass(frozen=True)
class TaughtTable(Table):
    """A table of every candidate that could be asked for, by the losses of the simulated trainer."""

    shared: SharedStages

    def losses(self, experiment: Experiment, candidate: Candidate, tokens: Any) -> Any:
        stages = trial_stages(experiment, self.shared, candidate, 1)
        ends = [trained.curve(StageTask("x/1", label, stages[label])) for label in pretrain_labels(experiment)]
        losses = [end.result["held_out_loss"] for end in ends]  # type: ignore[union-attr]
        known = dict(zip(experiment.pretraining.stage_ends, losses, strict=True))
        return np.array([known[each] for each in tokens])


COHORTS = [
    {"kind": "finite"},
    {"kind": "asha", "rungs": [640, 1280]},
    {"kind": "rank_checked", "reduction_factor": 2.0, "correlation": 0.3},
    {"kind": "hyperband", "rungs": [640, 1280], "reduction_factor": 2.0},
]


def search(folder: Path, **design: Any) -> Experiment:
    pretraining = {"tokens": 2560, "seeds": [1], "hurdle": {"kind": "pause", "rungs": [640, 1280]}}
    return trained.search(folder, design={**DESIGN, **design}, pretraining=pretraining)


def table_of(experiment: Experiment, candidates: list[Candidate]) -> Table:
    assert experiment.search is not None
    steps = experiment.pretraining.stage_ends
    values = np.linspace(5, 4, len(candidates) * len(steps)).reshape(len(candidates), len(steps))
    points = [{**point_of(experiment.search, candidate)} for candidate in candidates]
    curves = from_table("table", [str(row) for row in range(len(candidates))], points, steps, values)
    return Table(replace(curves, about={BASELINE_KEY: canonical(experiment.baseline)}))


@pytest.mark.parametrize("design", POLICIES, ids=lambda design: "-".join(map(str, design)) + design["policy"])
def test_a_simulated_search_is_the_run_with_the_same_losses(tmp_path: Path, design: dict[str, Any]) -> None:
    experiment = search(tmp_path, **design)
    Track(experiment, tmp_path, workers=1, publishes=False).run()
    with opened(tmp_path / "ledger.sqlite") as ledger:
        found, again = snapshot(ledger), reproduce(experiment, ledger)
    recorded = recorded_trace(found, experiment, again.duplicates)
    replayed = simulated_trace(experiment, _taught(experiment))
    assert _ends(recorded) == pytest.approx(_ends(replayed))
    assert recorded.duplicates == replayed.duplicates
    assert [each.candidate for each in recorded.trainings if each.finished] == [
        each.candidate for each in replayed.trainings if each.finished
    ]


@pytest.mark.parametrize(
    ("sampler", "hurdle"), [("random", COHORTS[1]), *(("tpe", hurdle) for hurdle in COHORTS)], ids=str
)
def test_a_simulated_search_by_cohorts_has_the_candidates_and_decisions_of_the_run(
    tmp_path: Path, sampler: str, hurdle: dict[str, Any]
) -> None:
    design = {"kind": "search", "space": trained.SPACE, "max_candidates": 14, "sampler": sampler, "random_share": 0.5}
    audit = None if hurdle["kind"] == "finite" else {"share": 0.5}
    pretraining = {"tokens": 2560, "seeds": [1], "hurdle": hurdle, "audit": audit}
    experiment = trained.search(tmp_path, design=design, pretraining=pretraining)
    found = Track(experiment, tmp_path, workers=1, publishes=False).run()
    again = simulated(experiment, _taught(experiment))
    assert [(arm.name, arm.identity, arm.cohort) for arm in again.arms] == [
        (arm.name, arm.identity, arm.cohort) for arm in found.arms
    ]
    assert [_decided(history) for history in again.histories] == [_decided(history) for history in found.histories]


def _decided(history: TrialHistory) -> list[tuple[object, ...]]:
    return [(one.trial, one.level, one.cleared, one.value, one.threshold) for one in history.decisions]


def _taught(experiment: Experiment) -> Table:
    values = np.array([[3.0, 2.0, 1.0], [3.0, 2.0, 0.0]])
    nothing = from_table("taught", ["a", "b"], [{}, {}], experiment.pretraining.stage_ends, values)
    return TaughtTable(nothing, shared_stages(experiment))


def _ends(trace: SearchTrace) -> list[float]:
    """Return the best loss at every cost, which is the same however a training is divided into records."""
    return trace.best_at(np.linspace(0, 4, 25).tolist())[6:].tolist()  # type: ignore[no-any-return]


def test_a_table_of_another_space_or_baseline_is_refused(tmp_path: Path) -> None:
    experiment = search(tmp_path, **POLICIES[0])
    pair = [experiment.baseline, experiment.baseline.model_copy(update={"recipe": experiment.baseline.recipe})]
    table = table_of(experiment, pair)
    with pytest.raises(DataError, match=r"no curve of .*bottleneck_ratio"):
        simulated(experiment, table)
    other = Table(replace(table.curves, about={BASELINE_KEY: {"other": 1}}, steps=(1.0, 2.0, 2560.0)))
    with pytest.raises(ConfigurationError, match="baseline is not that of the table") as refusal:
        simulated(experiment, other)
    assert "no losses at 640, 1280 tokens" in refusal.value.lines[1]
    measured = trained.search(tmp_path, design={**DESIGN, "trainings": None, "objectives": ["seconds", "score"]})
    with pytest.raises(ConfigurationError, match="a table has no seconds") as refusal:
        simulated(measured, table)
    assert "a table has no score" in refusal.value.lines[-1]

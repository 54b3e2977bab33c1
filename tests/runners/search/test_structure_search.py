"""Searches over structures: decisions, budgets, proposals, refusals, and the contracts of every space."""

from pathlib import Path
from typing import Any

import pytest

from runners.dag import shared_stages
from runners.scheduling.race_of_trials import RaceOfTrials
from runners.scheduling.rows import rows_of
from runners.scheduling.state import RunState
from runners.search.encoding import point_of
from runners.search.structure_contracts import CONTRACTS, structure_contracts
from search_space.overrides import InvalidOverride
from search_space.structure import StructureOption
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.validation.experiment import violations_of
from steeplechase.foundation.schema import options_of
from steeplechase.ledger.records import TrialStatus
from tests.factories import simulated_training as simulated
from tests.factories.crashing_ledger import CrashingLedger
from tests.factories.simulated_training import Killed, Track, folder_of, found, opened

PAUSE = {"kind": "pause", "rungs": [640, 1280]}
CELLS = {"layers": {"kind": "cells", "blocks": 3, "cells": [1, 2, 3], "activations": ["gelu", "relu"]}}
POLICY = {"policy": "progressive_hurdles", "trainings": 5}
TOURNAMENT = {"population": 5, "tournament_size": 3, "mutation_rate": 0.1, "children_per_hurdle": 3}


def search(folder: Path, hurdle: Any = None, **design: Any) -> Experiment:
    pretraining = {"tokens": 2560, "seeds": [1], "hurdle": hurdle or PAUSE, "audit": {"share": 0.2}}
    chosen = {"kind": "search", "structure": CELLS, "max_candidates": 40, **design}
    return simulated.search(folder, design=chosen, pretraining=pretraining)


@pytest.mark.parametrize("at_once", [1, 3])
def test_progressive_hurdles_in_run_take_the_decisions_of_the_policy_and_resume_after_kills(
    tmp_path: Path, at_once: int
) -> None:
    experiment = search(tmp_path, **POLICY, tournament=TOURNAMENT, at_once=at_once)
    folder = folder_of(tmp_path, "whole")
    whole = Track(experiment, folder, workers=at_once)
    expected = found(whole.run())
    with opened(folder / "ledger.sqlite") as ledger:
        arms = [arm for arm in ledger.arms() if arm.name != "baseline"]
        decisions, records = ledger.decisions(), [each for each in ledger.records() if each.trial is not None]
        state = RunState(experiment, shared_stages(experiment), ledger.path)
        state.apply_all(rows_of(ledger))
    race = state.race
    again = RaceOfTrials(experiment, {})
    for record in records:
        again.add(record)
    assert race is not None
    assert [arm.identity for arm in again.started()] == [arm.identity for arm in arms]
    assert (race.actions, race.parents) == (again.actions, again.parents)
    assert len({arm.identity for arm in arms}) == len(arms)
    for decision in decisions:
        if decision.threshold is not None:
            assert decision.value is not None
            assert decision.cleared == (decision.value < decision.threshold)
            assert decision.references
            assert not decision.cohort  # names would make a ledger as large as the square of its trials
    assert {decision.cleared for decision in decisions if decision.threshold is not None} == {True, False}
    names = ["baseline", *(arm.name for arm in arms)]
    assert [*race.parents] == names[1:]
    assert all(names.index(parent) < names.index(child) for child, parent in race.parents.items())
    audited = [history for history in whole.last.histories if history.audit] if whole.last else []
    assert {history.status for history in audited} == {TrialStatus.STOPPED}
    for rows in (9, 17, 30) if at_once == 1 else ():
        broken = folder_of(tmp_path, f"before {rows}")
        with pytest.raises(Killed):
            Track(experiment, broken, ledger_type=lambda path, rows=rows: CrashingLedger(path, rows)).run()
        assert found(Track(experiment, broken).run()) == expected


@pytest.mark.parametrize("sampler", ["random", "tpe"])
def test_samplers_propose_programs_of_the_space(tmp_path: Path, sampler: str) -> None:
    design = {"sampler": sampler, "max_candidates": 9, "cohort": 3, "space": {"bottleneck_ratio": [1, 2]}}
    experiment = search(tmp_path, hurdle={"kind": "top_fraction", "rungs": [640]}, **design)
    track = Track(experiment, tmp_path, publishes=False)
    track.ledger_path = Path(":memory:")
    snapshot = track.run()
    assert experiment.search is not None
    arms = [row for row in snapshot.arms if row.name != "baseline"]
    assert len(arms) == 8
    assert all({"layers/cells", "layers/blocks"} <= point_of(experiment.search, arm.candidate).keys() for arm in arms)


@pytest.mark.parametrize(
    ("design", "message"),
    [
        ({"structure": {}}, "no axes and no structure"),
        ({"policy": "tournament", "trainings": 3, "cohort": 2}, "has no effect with policy tournament"),
        ({"structure": {"layers": {"kind": "sublayer_order", "orders": "sandwich", "x": 1}}}, "Extra inputs"),
    ],
)
def test_an_impossible_structure_search_is_refused_with_a_reason(
    tmp_path: Path, design: dict[str, Any], message: str
) -> None:
    with pytest.raises((InvalidOverride, ValueError), match=message):  # noqa: PT012
        wrong = search(tmp_path, **{**POLICY, "tournament": TOURNAMENT, **design})
        raise ValueError(" ".join(violation.message for violation in violations_of(wrong)))


@pytest.mark.parametrize("kind", options_of(StructureOption), ids=lambda kind: kind.model_fields["kind"].default)
def test_every_space_keeps_every_contract(kind: type[StructureOption]) -> None:
    outcomes = [*structure_contracts(kind)]
    assert len(outcomes) == len(kind.examples) * len(CONTRACTS)
    assert [each for each in outcomes if each.problem or each.skipped] == []

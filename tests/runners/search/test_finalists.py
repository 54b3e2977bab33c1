"""Finalists of a search: fresh seeds, no hurdle, the ablation of the winner, and the same end after every kill."""

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reports.views import at_final_seeds
from runners.replay.curves import own_ledger
from runners.replay.recorded_decisions import reproduce
from runners.search.next_arms import ranked_candidates
from runners.search.observations import Observation
from steeplechase.configuration.arm import changed_arm
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.final_comparison import components_of
from steeplechase.ledger.records import TrialStatus
from steeplechase.ledger.snapshot import FinalComparison, Snapshot
from tests.factories import simulated_training as simulated
from tests.factories.simulated_training import SEARCH, Killed, Track, folder_of

MARKS = {"rungs": [640, 1280]}
FINALISTS: dict[str, Any] = {"finalists": {"count": 2, "seeds": 3}}


def search(folder: Path, hurdle: str = "top_fraction", audit: Any = None, **design: Any) -> Experiment:
    pretraining = {"tokens": 2560, "seeds": [1], "hurdle": {"kind": hurdle, **MARKS}, "audit": audit}
    return simulated.search(folder, design={**SEARCH, **design}, pretraining=pretraining)


def final_of(snapshot: Snapshot) -> FinalComparison:
    assert snapshot.final is not None
    return snapshot.final


def text(snapshot: Snapshot) -> str:
    final = final_of(snapshot)
    rows = [(arm.name, arm.final_of, arm.identity) for arm in final.arms]
    values = {
        history.trial.name: [(record.label, record.key, record.result.as_json) for record in history.records]
        for history in final.histories
    }
    return json.dumps([rows, values, simulated.found(snapshot)], sort_keys=True, default=str)


def test_finalists_are_trained_to_the_end_at_fresh_seeds_beside_the_baseline(tmp_path: Path) -> None:
    seen = Track(search(tmp_path, audit={"share": 0.5}, **FINALISTS), tmp_path).run()
    final = final_of(seen)
    assert len(final.plan.finalists) == 2
    assert [arm.final_of for arm in final.arms] == ["baseline", *final.plan.finalists]
    assert {history.status for history in final.histories} == {TrialStatus.FINISHED}
    searched = {history.trial.seed for history in seen.histories}
    assert len(final.plan.seeds) == 3
    assert not searched & {*final.plan.seeds}
    assert {(history.trial.arm, history.trial.seed) for history in final.histories} == {
        (arm.name, seed) for arm in final.arms for seed in final.plan.seeds
    }
    assert all(not history.decisions for history in final.histories)
    assert final.winner in final.plan.finalists
    assert {*own_ledger.read(tmp_path).candidates} <= {arm.name for arm in seen.arms}


@pytest.mark.parametrize("ablation", ["one_factor", "leave_one_out", "coalitions"])
def test_the_winner_is_ablated_axis_by_axis_at_the_same_seeds(tmp_path: Path, ablation: str) -> None:
    course = search(tmp_path, **FINALISTS, ablate_winner=ablation)
    final = final_of(Track(course, tmp_path).run())
    assert final.winner is not None
    components = components_of(final.plan.finalists[final.winner])
    assert len(components) == 2  # of two, each alone is also the winner without the other
    expected = {changed_arm("", course.baseline, each).identity for each in components.values()}
    identities = [arm.identity for arm in final.arms]
    assert expected <= {*identities}
    assert len(identities) == len({*identities})  # a known arm is not trained again under another name
    for arm in final.arms:
        assert {h.trial.seed for h in final.histories if h.trial.arm == arm.name} == {*final.plan.seeds}


def test_a_killed_search_ends_with_the_same_final_comparison(tmp_path: Path) -> None:
    course = search(tmp_path, "asha", **FINALISTS, ablate_winner="coalitions")
    whole = Track(course, folder_of(tmp_path, "whole"))
    expected = text(whole.run())
    total = len(whole.computed)
    for number, left in enumerate(range(3, total, max(1, total // 4))):
        track = Track(course, folder_of(tmp_path, str(number)), order=random.Random(number), left=left)
        with pytest.raises(Killed):
            track.run()
        track.left = None
        assert text(track.run()) == expected
        assert len(track.computed) == len({*track.computed})


def test_a_search_without_a_finished_candidate_trains_the_best_to_the_end(tmp_path: Path) -> None:
    course = search(tmp_path, "progressive_mean", max_candidates=6, cohort=3)
    track = Track(course, tmp_path)
    seen = track.run()
    assert not any(h.status is TrialStatus.FINISHED for h in seen.histories if h.trial.arm != "baseline")
    final = final_of(seen)
    assert not final.plan.declared
    assert final.plan.seeds == (1,)
    assert {history.status for history in final.histories} == {TrialStatus.FINISHED}
    assert len(track.computed) == len({*track.computed})  # the rungs of the search are not trained again
    rungs = {record.key for h in seen.histories for record in h.records}
    assert sum(record.key in rungs for h in final.histories for record in h.records) > 2
    shown = at_final_seeds(replace(seen, document=course.model_dump(mode="json")))
    assert shown is not None
    assert not any(record.reused for h in shown.histories for record in h.records)  # they are the search's own


def test_the_finalists_are_ranked_by_the_objectives_not_by_the_loss() -> None:
    candidates = {
        "diverged": Observation({}, (1.0,), False, diverged=True, scores=(99.0,)),
        "short": Observation({}, (2.0,), False, scores=(80.0,)),
        "probed": Observation({}, (3.0, 2.9), False, scores=(60.0, 70.0)),
        "low loss": Observation({}, (3.0, 2.5, 2.0), True, (50.0,), scores=(60.0, 61.0)),
        "high score": Observation({}, (4.0, 3.9, 3.8), True, (60.0,), scores=(50.0, 51.0)),
        "nothing": Observation({}, (), False),
    }
    assert ranked_candidates(("score",), candidates) == ["high score", "low loss", "probed", "short"]


def test_a_search_with_a_final_comparison_is_reproduced_from_its_records(tmp_path: Path) -> None:
    course = search(tmp_path, "asha", **FINALISTS, ablate_winner="leave_one_out")
    track = Track(course, tmp_path)
    track.run()
    with simulated.opened(tmp_path / "ledger.sqlite") as ledger:
        again = reproduce(course, ledger)
        assert again.decisions == len(ledger.decisions()) > 0
        assert again.candidates == 11

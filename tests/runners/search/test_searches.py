"""Searches in the run loop: repeats, audits and warm starts; every hurdle is in `test_resumed_searches.py`."""

import json
import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runners.search.observations import Observation, shifted_by_baseline
from runners.search.optuna_sampler import as_told
from runners.work_queue import Failure, StageTask
from steeplechase.configuration.designs import Search
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.validation.experiment import violations_of
from steeplechase.ledger.artifacts import Outcome
from steeplechase.ledger.records import TrialStatus
from tests.factories import simulated_training as simulated
from tests.factories.simulated_training import SEARCH, Track, curve, folder_of, found

HURDLE: Mapping[str, Any] = {"kind": "top_fraction", "rungs": [640, 1280]}
PROBE: Mapping[str, Any] = {**HURDLE, "probe": {"task": "docs_pair"}}
HALF = {"share": 0.5, "seed": 3}


def search(folder: Path, audit: Any = None, **design: Any) -> Experiment:
    pretraining = {"tokens": 2560, "seeds": [1], "hurdle": HURDLE, "audit": audit}
    return simulated.search(folder, design={**SEARCH, **design}, pretraining=pretraining)


def text(track: Track) -> str:
    return json.dumps(found(track.run()), sort_keys=True)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"pretraining": {"hurdle": {"kind": "finite"}, "audit": HALF}}, "an audit needs a hurdle with rungs"),
        (
            {"pretraining": {"hurdle": {**PROBE, "probe": {"task": "docs_pear"}}}},
            "Did you mean 'docs_pair'?",
        ),
        ({"pretraining": {"hurdle": PROBE}, "fine_tuning": {}}, "128 is longer than the 16 positions"),
        ({"design": {**SEARCH, "objectives": ["parameters"]}}, "parameters is a cost"),
        ({"design": {**SEARCH, "objectives": ["score", "score"]}}, "'score' is listed twice"),
    ],
)
def test_an_invalid_search_is_refused_with_a_reason(tmp_path: Path, parts: Any, message: str) -> None:
    pretraining = {"tokens": 2560, "seeds": [1], **parts.pop("pretraining", {})}
    wrong = simulated.search(tmp_path, pretraining=pretraining, **parts)
    assert message in " ".join(violation.message for violation in violations_of(wrong))


def test_a_search_by_a_gaussian_process_is_the_same_for_any_number_of_workers(
    tmp_path: Path,
) -> None:
    """Those by other samplers are in `test_resumed_searches.py`: here a proposal takes a second."""
    candidates, seen = 5, set[str]()
    course = search(tmp_path, sampler="gp", max_seeds=2, max_candidates=candidates)
    for seed in range(2):
        track = Track(course, tmp_path, workers=1 + 2 * seed, order=random.Random(seed), publishes=False)
        track.ledger_path = Path(":memory:")
        seen.add(text(track))
    assert len(seen) == 1
    trials = json.loads(seen.pop())["trials"]
    assert sum(name not in ("baseline/2",) for name in trials) == candidates


def test_a_search_with_several_objectives_ends(tmp_path: Path) -> None:
    course = search(tmp_path, sampler="nsga2", objectives=["held_out_loss", "parameters"])
    assert len(found(Track(course, tmp_path).run())["trials"]) == SEARCH["max_candidates"]


def test_a_repeat_is_the_next_seed_of_its_candidate(tmp_path: Path) -> None:
    space = {"bottleneck_ratio": [1, 2, 4]}
    course = search(tmp_path, space=space, max_candidates=30, max_seeds=3)
    track = Track(course, tmp_path)
    arms = found(track.run())["arms"]
    assert track.last is not None
    assert [arm[0] for arm in arms] == ["baseline", "candidate-001", "candidate-002"]
    seeds = {arm: sorted(history.trial.seed for history in track.last.of_arm(arm)) for arm, *_ in arms}
    assert seeds == {"baseline": [1, 2, 3], "candidate-001": [1, 2, 3], "candidate-002": [1, 2, 3]}
    resumed = Track(course, tmp_path)
    assert (found(resumed.run()), resumed.computed) == (found(track.last), [])


def test_an_offset_common_to_all_results_of_a_seed_changes_no_proposal(tmp_path: Path) -> None:
    def moved(work: StageTask) -> Outcome | Failure:
        end, seed = curve(work), getattr(work.stage.declaration, "seed", 1)
        assert isinstance(end, Outcome)
        loss = end.result.get("held_out_loss")
        more = {"held_out_loss": loss + (0.0, 1.5, -0.5)[seed - 1]} if isinstance(loss, float) else {}
        return replace(end, result={**end.result, **more})

    design = {
        **SEARCH,
        "sampler": "tpe",
        "max_candidates": 30,
        "max_seeds": 3,
        "objectives": ["held_out_loss"],
    }
    course = simulated.search(tmp_path, design=design, pretraining={"tokens": 2560, "seeds": [1]})
    tracks = [
        Track(course, folder_of(tmp_path, name), answer, publishes=False)
        for name, answer in (("plain", curve), ("moved", moved))
    ]
    plain, other = (found(track.run()) for track in tracks)
    assert [*plain["trials"]] == [*other["trials"]]
    assert plain["arms"] == other["arms"]
    repeats = [name for name in plain["trials"] if not name.endswith("/1") and not name.startswith("baseline")]
    assert len(repeats) > 3


def test_warm_start_results_are_shifted_to_the_seeds_of_this_search(tmp_path: Path) -> None:
    there, here = Observation({}, (6.0, 4.0), True, (4.0, 9.0)), Observation({}, (3.0,), True, (3.0, 9.0))
    names = ("held_out_loss", "parameters")
    told = shifted_by_baseline(
        Observation({"depth": 2}, (5.0,), True, (3.5, 7.0)), replace(there, losses=(4.0,)), here, names
    )
    assert (told.losses, told.objectives, told.complete) == ((4.0,), (2.5, 7.0), True)
    stopped = shifted_by_baseline(Observation({"depth": 2}, (5.0, 4.5), False), there, here, names)
    assert (stopped.losses, stopped.complete) == ((2.0,), False)
    finished = Observation({"depth": 2}, (5.0, 4.5), True, (4.5, 7.0))
    diverged = Observation({}, (6.0,), False, (None, 9.0), diverged=True)
    told = shifted_by_baseline(finished, diverged, here, names)
    assert (told.losses, told.objectives, told.complete) == ((2.0,), (None, 7.0), False)


def test_a_stopped_candidate_is_compared_with_the_rungs_of_this_search_and_not_of_an_earlier_one() -> None:
    earlier = Observation({}, (4.0,), True, (4.0,), proposed=False)
    own = Observation({}, (6.0, 4.0), True, (4.0,), proposed=False)
    stopped = Observation({"depth": 2}, (5.5,), False)
    design = Search(space={"depth": (1, 2)}, sampler="gp")
    told = [*as_told(design, (earlier, own, stopped))]
    assert [each.values for each in told] == [(4.0,), (4.0,), (3.5,)]


def test_audited_trials_are_trained_to_the_end_and_stay_stopped(tmp_path: Path) -> None:
    plain = found(Track(search(tmp_path), folder_of(tmp_path, "plain")).run())
    audited = Track(search(tmp_path, audit=HALF), folder_of(tmp_path, "audited"))
    assert found(audited.run()) == plain
    assert audited.last is not None
    stopped = [history for history in audited.last.histories if history.status is TrialStatus.STOPPED]
    chosen = [history for history in stopped if history.audit]
    assert len(chosen) == (len(stopped) + 1) // 2
    assert all(history.audit[-1].label == "pretrain@2560" for history in chosen)
    assert all(not history.audit for history in audited.last.histories if history not in stopped)


def test_warm_start_reads_finished_candidates_and_refuses_other_settings(tmp_path: Path) -> None:
    from steeplechase.foundation.errors import ConflictError

    first = folder_of(tmp_path, "first")
    done = Track(search(tmp_path, sampler="tpe"), first)
    done.run()
    with simulated.opened(first / "ledger.sqlite") as ledger:
        ledger.set_fact("identity", search(tmp_path, sampler="tpe").identity())
    warm = search(tmp_path, sampler="tpe", seed=5, warm_start=[str(first)])
    second = folder_of(tmp_path, "second")
    told = found(Track(warm, second).run())
    cold = found(Track(search(tmp_path, sampler="tpe", seed=5), folder_of(tmp_path, "cold")).run())
    assert told["arms"] != cold["arms"]
    with simulated.opened(second / "ledger.sqlite") as ledger:
        (source,) = ledger.fact("warm_start")
    assert len(source["content"]) == 64
    assert len(source["candidates"]) == sum(
        one[0] is TrialStatus.FINISHED for one in found(done.last)["trials"].values()
    )
    (first / "ledger.sqlite").unlink()
    assert found(Track(warm, second).run()) == told
    with simulated.opened(first / "ledger.sqlite") as ledger:
        other = search(tmp_path, sampler="tpe", space={"bottleneck_ratio": [1, 2]})
        ledger.set_fact("identity", other.identity())
    with pytest.raises(ConflictError, match="its settings differ") as refused:
        Track(warm, folder_of(tmp_path, "third")).run()
    assert refused.value.lines[1:] == ("  design.space",)


TOKENS, SEEDS = 2560, (1, 2, 3)

"""Transient faults have no effect: after retries the same command gives the table of a run without faults."""

import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runners.work_queue import Failure, StageTask
from steeplechase.configuration.experiment import Experiment
from steeplechase.ledger.artifacts import Outcome
from tests.factories import simulated_training as simulated
from tests.factories.simulated_training import SEARCH, Killed, Track, chance_of, curve, found

MARKS = {"rungs": [640, 1280]}
HURDLES: tuple[Mapping[str, Any], ...] = (
    {"kind": "finite"},
    {"kind": "progressive_mean", **MARKS},
    {"kind": "progressive_mean", **MARKS, "population": "all_so_far"},
    {"kind": "top_fraction", **MARKS},
    {"kind": "top_fraction", **MARKS, "probe": {"task": "docs_pair"}},
    {"kind": "asha", **MARKS, "reduction_factor": 2.0},
    {"kind": "hyperband", **MARKS, "reduction_factor": 2.0},
)
TUNE = {"vary": {"recipe.peak_learning_rate": [5e-4, 1e-3]}, "trials": 2, "seeds": [101], "tokens": 1280}
UNTIL_DECIDED = {"until_decided": {"start": 3, "max": 5, "step": 1, "margin": {"held_out_loss": 0.02}}}
NO_SPACE = Failure("OSError: [Errno 28] No space left on device", "Traceback")
DIED = Failure("the worker process ended with code -9", worker_died=True)


def a_search(folder: Path, hurdle: Mapping[str, Any], sampler: str, seeds: list[int], audit: bool) -> Experiment:
    """Return a search of three cohorts; a probe needs a sequence length."""
    pretraining = {"tokens": 2560, "seeds": seeds, "hurdle": hurdle, "audit": {"share": 0.5} if audit else None}
    design = {**SEARCH, "max_candidates": 7, "cohort": 3, "sampler": sampler}
    parts = {"fine_tuning": {"sequence_length": 16}} if "probe" in hurdle else {}
    return simulated.search(folder, design=design, pretraining=pretraining, **parts)


def a_tuned_table(folder: Path) -> Experiment:
    """Return a table with tuning."""
    return simulated.experiment(folder, pretraining={"tokens": 2560, "seeds": [1]}, fine_tuning={}, tune=TUNE)


def a_table_until_decided(folder: Path) -> Experiment:
    """Return a table with sequential seeds."""
    pretraining = {"tokens": 2560, "seeds": UNTIL_DECIDED}
    return simulated.experiment(folder, pretraining=pretraining, fine_tuning={})


searches = st.builds(
    lambda *drawn: lambda folder: a_search(folder, *drawn),
    st.sampled_from(HURDLES),
    st.sampled_from(["random", "tpe"]),
    st.sampled_from([[1], [1, 2]]),
    st.booleans(),
)
experiments = searches | st.sampled_from([a_tuned_table, a_table_until_decided, simulated.small_table])


@dataclass
class Faults:
    """A schedule: the share `rate` of all stages of trials fails, each once to three times, then it succeeds."""

    seed: int
    rate: float
    tried: Counter[str] = field(default_factory=Counter)

    def answer(self, work: StageTask) -> Outcome | Failure:
        """Return the outcome of a stage in the schedule."""
        if work.trial is None or chance_of("fault", self.seed, work.stage.key) >= self.rate:
            return curve(work)
        self.tried[work.stage.key] += 1
        lasts = 1 + int(3 * chance_of("lasts", self.seed, work.stage.key))
        fault = DIED if chance_of("kind", self.seed, work.stage.key) < 0.5 else NO_SPACE
        return fault if self.tried[work.stage.key] <= lasts else curve(work)


def run_until_nothing_fails(track: Track, chance: random.Random, kills: bool) -> int:
    """Repeat the run until no trial has failed; return the number of runs."""
    for times in count(1):
        track.workers = chance.randint(1, 4)
        track.left = chance.randint(1, 12) if kills and times % 2 else None
        try:
            done = track.run()
        except Killed:
            continue
        if not done.failed:
            return times
    raise AssertionError


@settings(max_examples=8, deadline=None)
@given(make=experiments, seed=st.integers(0, 10**6), rate=st.sampled_from([0.05, 0.2, 0.5]), kills=st.booleans())
def test_any_schedule_of_transient_faults_gives_the_table_without_faults(
    make: Callable[[Path], Experiment], seed: int, rate: float, kills: bool
) -> None:
    with TemporaryDirectory() as name:
        calm, disturbed = simulated.folder_of(Path(name), "calm"), simulated.folder_of(Path(name), "disturbed")
        experiment, chance = make(Path(name)), random.Random(seed)
        expected = found(Track(experiment, calm).run())
        track = Track(experiment, disturbed, Faults(seed, rate).answer, order=chance)
        run_until_nothing_fails(track, chance, kills)
        assert track.last is not None
        assert found(track.last) == expected


@pytest.mark.parametrize("hurdle", HURDLES, ids=lambda hurdle: hurdle["kind"] + "-".join([*hurdle][1:]))
def test_a_search_with_a_failed_trial_ends_without_further_decisions(
    tmp_path: Path, hurdle: Mapping[str, Any]
) -> None:
    experiment = a_search(tmp_path, hurdle, "tpe", [1], audit=True)
    failed = Track(experiment, tmp_path, lambda work: NO_SPACE if work.trial == "candidate-001/1" else curve(work))
    stuck = failed.run()
    assert [history.trial.name for history in stuck.failed] == ["candidate-001/1"]
    assert {arm.cohort for arm in stuck.arms} == {0}  # no candidate is proposed from what the failure left
    assert found(failed.run()) == found(stuck)  # with the same fault, a repeated run changes nothing and ends

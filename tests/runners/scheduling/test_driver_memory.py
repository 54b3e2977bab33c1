"""What a driver holds of a search grows with its candidates; it looks at each of them once a cohort."""

import gc
import tracemalloc
from collections.abc import Sequence
from dataclasses import replace

import pytest

from benchmarks.search_overhead import EXPERIMENT, experiment_of
from runners.replay.simulated import SimulatedStages, settled
from runners.scheduling.cohort_search import CohortSearch
from runners.scheduling.state import RunState
from runners.search.observations import Observation, Observer
from search_space.candidate import Candidate
from steeplechase.configuration.hurdles.cohorts import Asha, Hyperband, TopFraction
from steeplechase.configuration.hurdles.population import State, TrialView
from steeplechase.configuration.hurdles.progressive_mean import ProgressiveMean
from steeplechase.configuration.hurdles.rank_checked import RankChecked
from steeplechase.configuration.hurdles.rungs import Finite, Hurdle
from steeplechase.ledger.records import KnownArm, Record, Status, with_results
from steeplechase.ledger.stage_results import PretrainResult
from steeplechase.ledger.trial_history import TrialHistory

COHORT = 20
HURDLES: tuple[Hurdle, ...] = (
    Finite(),
    TopFraction(rungs=(1, 2)),
    Hyperband(rungs=(1, 2)),
    ProgressiveMean(rungs=(1, 2)),
    ProgressiveMean(rungs=(1, 2), population="all_so_far"),
    Asha(rungs=(1, 2)),
    RankChecked(rungs=(1, 2)),
)


def held_after(hurdle: Hurdle, candidates: int) -> int:
    """Return the bytes that a search holds when its last cohort has ended."""
    gc.collect()
    before, search = tracemalloc.get_traced_memory()[0], CohortSearch(hurdle)
    for first in range(0, candidates, COHORT):
        names = [f"candidate-{number}" for number in range(first, first + COHORT)]
        trials = {name: TrialView(name, first // COHORT, State.MOVING) for name in names}
        while moving := [trial for trial in trials.values() if trial.state is State.MOVING]:
            for trial in moving:
                value = float(len(moving) + trial.level + int(trial.name[10:]) * 7919 % 1009)
                at_end = trial.level == len(hurdle.rungs_of(3))
                values = trial.values if at_end else (*trial.values, value)
                trials[trial.name] = replace(trial, state=State.DONE if at_end else State.WAITING, values=values)
                search.observe(trials[trial.name], at_end)
            while decisions := search.decisions():
                for name, decision in decisions.items():
                    trial, state = trials[name], State.MOVING if decision.cleared else State.DONE
                    search.decided(trial.cohort, trial.level, decision)
                    trials[name] = replace(trial, state=state, level=trial.level + 1)
                    search.observe(trials[name], state is State.DONE)
    gc.collect()
    return tracemalloc.get_traced_memory()[0] - before


@pytest.mark.parametrize("hurdle", HURDLES, ids=lambda hurdle: f"{hurdle.kind} {getattr(hurdle, 'population', '')}")
def test_a_search_holds_as_much_of_its_last_candidates_as_of_its_first(hurdle: Hurdle) -> None:
    tracemalloc.start()
    try:
        held_after(hurdle, 60)  # what is imported and cached
        first, half, whole = (held_after(hurdle, number) for number in (60, 120, 240))
    finally:
        tracemalloc.stop()
    assert (whole - half) / 120 < 1.3 * (half - first) / 60
    assert (whole - half) / 120 < 1500


def state_after(candidates: int, proposer: str, hurdle: str) -> RunState:
    """Return the state of a whole search whose losses are numbers by candidate."""
    state = RunState(experiment_of(candidates, proposer, COHORT, hurdle), SimulatedStages({}), EXPERIMENT)
    while tasks := settled(state).ready:
        task, number = tasks[0], len(state.rows.records())
        loss = 4 + number * 7919 % 1009 / 1009
        result = PretrainResult(tokens=64, held_out_loss=loss, held_out_curve=((32, loss + 1), (64, loss)))
        known = (task.trial, "pretrain", task.label, task.stage.key, Status.FINISHED, result)
        state.apply(Record(number + 1, *known, seconds=1.0, reused=False))
    return state


@pytest.mark.parametrize("hurdle", ["asha", "progressive_mean"])
def test_rows_in_memory_have_no_curves_and_every_candidate_is_observed_once_a_cohort(
    hurdle: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    observe, observed = Observer.observation, list[str]()

    def counted(self: Observer, arm: KnownArm, histories: Sequence[TrialHistory], proposed: bool) -> Observation:
        observed.append(arm.name)
        return observe(self, arm, histories, proposed)

    monkeypatch.setattr(Observer, "observation", counted)
    state = state_after(3 * COHORT, "random", hurdle)
    results = [result for _, result in with_results(state.rows.records(), PretrainResult)]
    assert [{*result.as_json} for result in results] == [{"tokens", "held_out_loss"}] * len(state.rows.records())
    assert len(state.rows.arms()) == len(state.trials) == 3 * COHORT
    assert len(observed) <= (1 + 2) * COHORT + 3 * COHORT  # the proposals of two cohorts, then the choice at the end


def test_a_policy_keeps_no_candidate_that_has_ended() -> None:
    state = state_after(2 * COHORT, "progressive_hurdles", "pause")
    assert len(state.trials) > COHORT
    gc.collect()
    kept = sum(isinstance(each, Candidate) for each in gc.get_objects())
    state = state_after(4 * COHORT, "progressive_hurdles", "pause")
    gc.collect()
    assert sum(isinstance(each, Candidate) for each in gc.get_objects()) <= kept + 2

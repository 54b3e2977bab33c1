"""Ranking of candidates: by differences at the same seeds, so that effects of the seed cancel."""

import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reports.report import build
from reports.sections.candidates import candidates_table
from reports.sections.pareto import trade_offs
from reports.statistics.reading import results_of
from reports.statistics.results import Results
from runners.tracking.mirrored_run import stop_reason
from steeplechase.configuration.metrics import primary_metric
from steeplechase.ledger.records import Record, Status, TrialStatus
from steeplechase.ledger.snapshot import Snapshot
from steeplechase.ledger.stage_results import PretrainResult
from steeplechase.ledger.trial_history import TrialHistory
from tests.factories.keys import KEY
from tests.factories.read_reports import grid_of, rows_of
from tests.factories.reports import TOKENS, Trial, document, search_design, snapshot

RUNGS = (500_000, TOKENS)
ARMS = {"baseline": {}, "c001": {"bottleneck_ratio": 2}, "c002": {"bottleneck_ratio": 4}, "c003": {"heads": 2}}
Losses = Mapping[str, Mapping[int, tuple[float, ...]]]
"""Loss at every rung reached, by arm and seed."""


def searched(losses: Losses, seeds: tuple[int, ...] = (1, 2)) -> Snapshot:
    trials = []
    for arm, by_seed in losses.items():
        for seed, values in by_seed.items():
            trial = Trial(arm, seed)
            for mark, loss in zip(RUNGS, values, strict=False):
                trial.pretrained(loss, mark)
            trials.append(trial if len(values) > 1 else trial.judged(0, False, values[0], values[0] - 0.1))
    pretraining = {"tokens": TOKENS, "seeds": [*seeds], "hurdle": {"kind": "top_fraction", "rungs": [RUNGS[0]]}}
    resolved = document(seeds=seeds, design=search_design(), pretraining=pretraining)
    return snapshot(trials, arms=ARMS, resolved=resolved, rungs=RUNGS, experiment="search")


def results(losses: Losses) -> Results:
    view = searched(losses)
    return results_of(view, primary_metric)


def table(losses: Losses) -> list[Mapping[str, Any]]:
    return [*candidates_table(results(losses)).rows]


def order(losses: Losses) -> list[str]:
    return [row["arm"] for row in table(losses)]


def values_of(losses: Losses) -> dict[str, float]:
    """Return the values of the Pareto front."""
    return {point.arm: point.value for trade in trade_offs(results(losses))[:1] for point in trade.points}


LOSS = st.integers(0, 3)
OF_ARM = st.dictionaries(st.sampled_from([1, 2, 3]), st.tuples(LOSS) | st.tuples(LOSS, LOSS), min_size=1)
SHIFTS = st.fixed_dictionaries({seed: st.floats(-90, 90) for seed in (1, 2, 3)})


@given(st.fixed_dictionaries(dict.fromkeys(ARMS, OF_ARM)), SHIFTS)
@settings(max_examples=20)
def test_an_effect_of_the_seed_changes_no_rank(
    drawn: Mapping[str, Mapping[int, tuple[int, ...]]], shifts: Mapping[int, float]
) -> None:
    chance = random.Random(1)  # noise, so that no two differences are equal
    losses = {
        arm: {seed: tuple(value + chance.random() / 4 for value in values) for seed, values in by_seed.items()}
        for arm, by_seed in drawn.items()
    }
    moved = {
        arm: {seed: tuple(value + shifts[seed] for value in values) for seed, values in by_seed.items()}
        for arm, by_seed in losses.items()
    }
    assert order(losses) == order(moved)
    before, after = values_of(losses), values_of(moved)
    assert before.keys() == after.keys()
    apart = [after[arm] - before[arm] for arm in before]
    assert max(apart, default=0.0) - min(apart, default=0.0) < 1e-9


def test_a_candidate_at_an_easy_seed_only_is_not_ranked_first_for_it() -> None:
    base, kept = {1: (7.9, 7.80), 2: (7.9, 7.90)}, {1: (7.9, 7.81), 2: (8.1,)}
    losses = {"baseline": base, "c001": kept, "c002": {1: (7.9, 7.79), 2: (7.9, 7.88)}}
    assert order(losses)[:3] == ["baseline", "c002", "c001"]
    _, best, last, *_ = table(losses)
    assert (best["seeds"], best["n"], best["delta"]) == ("1 2", 2, pytest.approx(-0.015))
    assert (last["seeds"], last["n"], last["delta"]) == ("1", 1, pytest.approx(0.01))
    finding = build(searched(losses)).finding
    assert "the best of them is c002" in finding
    assert "whether it differs from the next cannot be tested with one seed (c002 minus c001: " in finding


@pytest.mark.parametrize("candidates", [1, 2])
def test_the_best_of_several_candidates_is_better_without_correction_for_its_choice(candidates: int) -> None:
    losses = {
        "baseline": {1: (5.0, 4.0), 2: (5.0, 4.1), 3: (5.0, 4.0)},
        "c001": {1: (5.1, 3.2), 2: (5.1, 3.3), 3: (5.1, 3.21)},
        "c002": {1: (5.2, 3.3), 2: (5.2, 3.4), 3: (5.2, 3.3)},
    }
    view = searched(dict(list(losses.items())[: candidates + 1]), seeds=(1, 2, 3))
    choice = " (without correction for the choice of the best of 2)" if candidates > 1 else ""
    assert f"significantly better than the baseline{choice} in held-out loss" in build(view).finding


def test_a_seed_without_the_baseline_is_not_ranked_and_the_report_states_it() -> None:
    losses = {"baseline": {1: (7.0, 6.0)}, "c001": {1: (6.9,), 2: (6.0, 4.0)}, "c002": {1: (6.8, 5.9)}}
    report = build(searched(losses, seeds=(1,)))
    assert [row["arm"] for row in rows_of(report, "candidates")][:3] == ["baseline", "c002", "c001"]
    assert any("Not ranked" in note and "c001/2 at 2M tokens" in note for note in report.notes)


def test_where_the_baseline_diverged_candidates_are_ranked_among_themselves() -> None:
    losses = {"c001": {1: (7.0, 6.0), 2: (9.0, 8.0)}, "c002": {1: (7.0, 5.9), 2: (9.0, 7.9)}}
    view = searched(losses)
    diverged = snapshot([Trial("baseline", 1).diverged()], arms=ARMS, resolved=view.document, rungs=RUNGS)
    report = build(replace(view, histories=(*diverged.histories, *view.histories)))
    assert "the best of them is c002" in report.finding
    assert "which shares no rung with the baseline" in report.finding


def ended(standings: Mapping[str, tuple[TrialStatus, ...]]) -> str:
    """Return the finding on trials that reached no rung."""
    trials = []
    for arm, each in standings.items():
        for seed, standing in enumerate(each, start=1):
            trial = Trial(arm, seed, standing)
            ends = {TrialStatus.DIVERGED: trial.diverged, TrialStatus.FAILED: trial.failed}
            trials.append(ends[standing]() if standing in ends else trial)
    resolved = document(seeds=(1,), design=search_design())
    return build(snapshot(trials, arms={arm: {} for arm in standings}, resolved=resolved)).finding


def test_a_search_without_a_result_reports_the_reason() -> None:
    bad, lost, ahead = (TrialStatus.DIVERGED,), (TrialStatus.FAILED,), (TrialStatus.WAITING,)
    every = ended({"baseline": bad, "c001": bad, "c002": bad})
    assert every == (
        "No result: the baseline and all 2 candidates diverged. "
        "The space has 2 points beside the baseline: 2 of 19 candidates."
    )
    assert ended({"baseline": bad, "c001": bad, "c002": lost}).startswith(
        "No result: of 2 candidates none finished (1 failed, 1 diverged), and the baseline diverged"
    )
    assert ended({"baseline": bad, "c001": ahead}).startswith("No result yet")


def audited_at(history: TrialHistory, final: float) -> TrialHistory:
    name, result = history.trial.name, PretrainResult(tokens=TOKENS, held_out_loss=final)
    record = Record(9, name, "pretrain", f"pretrain@{TOKENS}", KEY, Status.FINISHED, result, 1.0, False)
    return replace(history, audit=(record,))


def with_audit(final: float) -> Snapshot:
    losses = {"baseline": {1: (7.0, 6.0)}, "c001": {1: (7.5,)}, "c002": {1: (6.8, 5.9)}}
    view = searched(losses, seeds=(1,))
    histories = (audited_at(one, final) if one.trial.name == "c001/1" else one for one in view.histories)
    return replace(view, histories=tuple(histories))


def test_the_absence_of_an_audited_trial_from_the_ranks_is_noted() -> None:
    report = build(with_audit(5.1))
    assert any(
        note.startswith("Audited (trained to the end of the budget") and "c001/1" in note for note in report.notes
    )
    assert "the only one to finish is c002" in report.finding


def test_a_candidate_that_sets_a_hurdle_is_not_counted_as_stopped_by_its_threshold() -> None:
    trials = [Trial("baseline", 1).pretrained(7.0, RUNGS[0]).pretrained(6.0)]
    trials += [Trial("c001", 1).pretrained(7.5, RUNGS[0]).judged(0, False, 7.5, None)]
    trials += [Trial("c002", 1).pretrained(7.6, RUNGS[0]).judged(0, False, 7.6, 7.5)]
    trials += [Trial("c003", 1).pretrained(6.9, RUNGS[0]).judged(0, True, 6.9, 7.5).pretrained(5.9)]
    view = searched({})
    view = replace(view, histories=tuple(trial.history() for trial in trials))
    audited = (audited_at(one, 6.5) if one.trial.name in ("c001/1", "c002/1") else one for one in view.histories)
    report = build(replace(view, histories=tuple(audited)))
    counts = {row["hurdle"]: (row["stopped"], row["audited"]) for row in rows_of(report, "audit")}
    assert counts == {1: (1, 1), "1, set here": (1, 1), "all": (2, 2)}
    (row,) = rows_of(report, "candidates", arm="c001")
    assert row["status"].startswith("stopped at hurdle 1,")
    assert "which it sets" in row["status"]


def test_a_value_and_its_threshold_differ_as_text_everywhere() -> None:
    trial = Trial("c001", 1).pretrained(5.95904, RUNGS[0]).judged(0, False, 5.95904, 5.95901)
    assert stop_reason(trial.history()) == "hurdle 1: 5.95904 against 5.95901"
    view = replace(searched({}), histories=(trial.history(),))
    rows = grid_of(build(view), "candidates").rows
    assert any("5.95904 / 5.95901" in cell.text for row in rows for cell in row)

"""Audit of hurdles: early hurdles are wrong if curves cross, and right otherwise."""

import random
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

from reports.report import build
from reports.sections.audit import audit_sentence, audit_table, weighted_tau
from reports.statistics.reading import results_of
from reports.statistics.results import Results
from steeplechase.configuration.metrics import primary_metric
from steeplechase.configuration.pretraining import Audit
from steeplechase.ledger.records import Record, Status
from steeplechase.ledger.snapshot import Snapshot
from steeplechase.ledger.stage_results import PretrainResult
from tests.factories.keys import KEY
from tests.factories.read_reports import rows_of
from tests.factories.reports import TOKENS, Trial, document, search_design, snapshot

MARK = 200_000


def crossing(early: float) -> float:
    """Return a final loss that decreases with the early loss."""
    return 12.0 - early


def benign(early: float) -> float:
    return early - 2.0


def raced(final: Callable[[float], float], share: float, count: int = 40) -> Snapshot:
    """Return a search in which the better half at the rung continued and a share of the others was audited."""
    chance = random.Random(4)
    early = {f"c{number:03d}": 5.0 + chance.random() for number in range(count)}
    bar = median(early.values())
    chosen = Audit(share=share, seed=1).chosen(f"{arm}/1" for arm, value in early.items() if value >= bar)
    trials = [Trial("baseline", 1).pretrained(6.0, MARK).pretrained(4.0)]
    audits = {}
    for arm, value in early.items():
        trial = Trial(arm, 1).pretrained(value, MARK).judged(0, value < bar, value, bar)
        trials.append(trial.pretrained(final(value)) if value < bar else trial)
        if trial.name in chosen:
            result = PretrainResult(tokens=TOKENS, held_out_loss=final(value))
            label = f"pretrain@{TOKENS}"
            audits[trial.name] = (Record(9, trial.name, "pretrain", label, KEY, Status.FINISHED, result, 1.0, False),)
    hurdle = {"kind": "top_fraction", "rungs": [MARK]}
    resolved = document(
        seeds=(1,), design=search_design(), pretraining={"tokens": TOKENS, "seeds": [1], "hurdle": hurdle}
    )
    arms = {"baseline": {}, **{arm: {"bottleneck_ratio": 2} for arm in early}}
    view = snapshot(trials, arms=arms, resolved=resolved, rungs=(MARK, TOKENS), experiment="search")
    histories = (replace(one, audit=audits.get(one.trial.name, ())) for one in view.histories)
    return replace(view, histories=tuple(histories))


def results(view: Snapshot) -> Results:
    return results_of(view, primary_metric)


def test_with_crossing_curves_every_audited_stop_is_wrong() -> None:
    audited = results(raced(crossing, share=0.3))
    hurdle, whole = audit_table(audited).rows
    assert (hurdle["stopped"], hurdle["audited"], hurdle["wrong"], hurdle["beat_worst"]) == (20, 6, 6, 6)
    assert hurdle["correlation"] == pytest.approx(-1.0)
    assert hurdle["low"] > 0.6
    assert whole["regret"] > 0.3
    assert "6 ended better than the median survivor" in audit_sentence(audited)


def test_with_a_constant_order_no_stop_is_wrong_and_regret_is_zero() -> None:
    hurdle, whole = audit_table(results(raced(benign, share=0.3))).rows
    assert (hurdle["wrong"], hurdle["beat_worst"], hurdle["correlation"]) == (0, 0, pytest.approx(1.0))
    assert (whole["share"], whole["regret"]) == (0.0, 0.0)
    assert hurdle["high"] < 0.4


def test_the_audit_changes_no_rank_and_the_report_states_it() -> None:
    report = build(raced(crossing, share=1.0))
    stopped = rows_of(report, "candidates", stopped_at_hurdle=1)
    assert len(stopped) == 20
    assert all(row["tokens"] == MARK and "audited" in row["status"] for row in stopped)
    names = {row["arm"] for row in stopped}
    assert {row["mean"] for row in rows_of(report, "results") if row["arm"] in names} == {None}
    assert "Of 40 candidates 20 finished (20 stopped at hurdles)" in report.finding
    assert "The audit trained 20 of 20" in report.finding
    assert "audit" in {grid.name for grid in report.grids}


def test_without_an_audit_the_report_does_not_mention_it() -> None:
    view = raced(benign, share=0.3)
    silent = results(replace(view, histories=tuple(replace(one, audit=()) for one in view.histories)))
    assert audit_table(silent).rows == ()
    assert audit_sentence(silent) == ""


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=12))
def test_unweighted_without_ties_it_is_kendalls_tau(pairs: list[tuple[int, int]]) -> None:
    text = [(a, b) for a, b in pairs]
    if all(one[0] != two[0] and one[1] != two[1] for one, two in combinations(text, 2)):
        values, finals = zip(*text, strict=True)
        found, low, high = weighted_tau(text, [1.0] * len(text), [0] * len(text))
        assert found == pytest.approx(kendalltau(values, finals).statistic)
        assert low is None or low <= high


def test_an_audited_trial_is_weighted_by_the_stopped_trials_it_represents() -> None:
    pairs = [(1.0, 1.0), (2.0, 2.0), (3.0, 0.5)]  # the last one, audited, has the lowest final loss
    alone, _, _ = weighted_tau(pairs, [1.0, 1.0, 1.0], [-1, -1, 0])
    for_many, _, _ = weighted_tau(pairs, [1.0, 1.0, 10.0], [-1, -1, 0])
    assert alone == pytest.approx(-1 / 3)
    assert for_many == pytest.approx((1 - 20) / 21)


def test_one_audited_trial_has_no_interval() -> None:
    pairs = [(float(position), float(position)) for position in range(6)]
    assert weighted_tau(pairs, [1.0] * 6, [0] * 5 + [1]) == (pytest.approx(1.0), None, None)
    found, low, high = weighted_tau([*pairs, (2.5, 0.5)], [1.0] * 7, [0, 0, 0, 1, 1, 1, 1])
    assert low is not None
    assert high is not None
    assert low < found < high


@given(st.sets(st.text("abc/12", min_size=1), min_size=1, max_size=30), st.floats(0.01, 1), st.integers(0, 99))
def test_the_audited_sample_depends_on_names_and_seed_only(names: set[str], share: float, seed: int) -> None:
    audit, order = Audit(share=share, seed=seed), sorted(names)
    chosen = audit.chosen(order)
    random.Random(seed).shuffle(order)
    assert audit.chosen(order) == chosen
    assert set(chosen) <= names
    assert 1 <= len(chosen) <= len(names)
    assert abs(len(chosen) - share * len(names)) < 1

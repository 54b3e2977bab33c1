"""Rows of the main tables: counted, averaged and displayed values."""

import random
from dataclasses import replace
from functools import cache
from statistics import fmean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reports.formats import csv
from reports.report import build
from steeplechase.ledger.records import Status, TrialStatus
from steeplechase.ledger.snapshot import Snapshot
from tests.factories.read_reports import grid_of, rows_of
from tests.factories.reports import ARMS, TOKENS, Trial, document, full_trial, primary, snapshot, table2, troubled

TASKS = ("docs_acceptability", "docs_pair")


def status(view: Snapshot, arm: str) -> object:
    return rows_of(build(view, primary=primary), "results", arm=arm)[0]["status"]


@pytest.mark.parametrize(
    ("comparison", "seeds", "remark"),
    [
        ("paired", (1,), "(1 pair)"),
        ("paired", (1, 2), "(2 pairs)"),
        ("welch", (1,), "(1 seed of the baseline)"),
        ("welch", (1, 2), "(2 seeds of the baseline)"),
    ],
)
def test_fewer_seeds_of_the_baseline_are_counted_beside_the_difference(
    comparison: str, seeds: tuple[int, ...], remark: str
) -> None:
    trials = [Trial("baseline", seed).pretrained(6.0 + seed**2 / 50) for seed in seeds]
    trials += [Trial("wide", seed).pretrained(5.0 + seed / 10) for seed in (1, 2, 3)]
    resolved = document(seeds=(1, 2, 3), comparison=comparison)
    report = build(snapshot(trials, {"baseline": {}, "wide": {"width": 512}}, resolved=resolved))
    shown = grid_of(report, "results")
    assert [cell.text for row in shown.rows for cell in row if cell.text.endswith(remark)]


@cache
def unmixed() -> str:
    return csv.render(build(table2()))


@settings(max_examples=10, deadline=None)
@given(st.randoms(use_true_random=False))
def test_order_of_trials_records_and_tasks_never_changes_the_csv(shuffler: random.Random) -> None:
    view = table2()
    histories = [replace(h, records=tuple(_mixed(h.records, shuffler))) for h in view.histories]
    tasks = _mixed(TASKS, shuffler)
    mixed = replace(
        view,
        histories=tuple(_mixed(histories, shuffler)),
        arms=tuple(_mixed(view.arms, shuffler)),
        shared=tuple(_mixed(view.shared, shuffler)),
        document={**view.document, "fine_tuning": {"tasks": tasks, "seeds": [1, 2]}},
    )
    assert csv.render(build(mixed)) == unmixed()


def _mixed(items: object, shuffler: random.Random) -> list[object]:
    mixed = list(items)  # type: ignore[call-overload]
    shuffler.shuffle(mixed)
    return mixed


def test_fine_tuning_seeds_are_averaged_within_a_pretraining_seed() -> None:
    trials = [
        Trial("baseline", 1).pretrained(6.0).tuned("docs_pair", 1, accuracy=50).tuned("docs_pair", 2, accuracy=60),
        Trial("baseline", 2).pretrained(6.0).tuned("docs_pair", 1, accuracy=70).tuned("docs_pair", 2, accuracy=90),
    ]
    (row,) = rows_of(build(snapshot(trials, tasks=("docs_pair",))), "results", arm="baseline", metric="docs_pair")
    assert (row["n"], row["mean"], row["sd"]) == (2, 67.5, pytest.approx(17.6777, abs=1e-4))


def test_a_task_counts_once_all_its_fine_tuning_seeds_are_in() -> None:
    trial = Trial("baseline", 1, TrialStatus.RUNNING).pretrained(6.0).tuned("docs_pair", 1, accuracy=50)
    report = build(snapshot([trial], tasks=("docs_pair",)))
    assert rows_of(report, "results", arm="baseline", metric="docs_pair")[0]["n"] == 0
    assert rows_of(report, "results", arm="baseline", metric="held_out_loss")[0]["n"] == 1


def test_score_is_the_mean_of_the_tasks_if_all_are_measured() -> None:
    def trial(seed: int) -> Trial:
        made = Trial("baseline", seed).pretrained(6.0)
        return made.tuned("docs_pair", 1, accuracy=80.0).tuned("docs_pair", 2, accuracy=80.0)

    full = trial(1)
    for tuning in (1, 2):
        full.tuned("docs_acceptability", tuning, matthews=20.0, accuracy=90.0)
    report = build(snapshot([full, trial(2)], tasks=TASKS))
    (row,) = rows_of(report, "results", arm="baseline", metric="score")
    assert (row["n"], row["mean"]) == (1, fmean([80.0, 20.0]))


def test_a_loss_short_of_the_budget_is_not_averaged_in() -> None:
    view = snapshot([Trial("baseline", 1, TrialStatus.RUNNING).pretrained(5.0, 1000)], rungs=(1000, TOKENS))
    assert rows_of(build(view), "results", arm="baseline", metric="held_out_loss")[0]["n"] == 0


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_non_finite_number_is_not_a_value(value: float) -> None:
    result = {"tokens": TOKENS, "held_out_loss": value}
    trial = Trial("baseline", 1).record("pretrain", f"pretrain@{TOKENS}", result)
    assert rows_of(build(snapshot([trial])), "results", arm="baseline")[0]["mean"] is None


def test_diverged_stopped_and_failed_trials_are_named_and_not_averaged() -> None:
    view = troubled()
    text = {arm: status(view, arm) for arm in ARMS}
    assert text == {
        "baseline": "finished",
        "bottleneck": "finished",
        "depthwise": "diverged (1 of 3 seeds)",
        "dynamic": "failed",
        "span_dynamic": "1 of 3 seeds",
    }
    (row,) = rows_of(build(view), "results", arm="depthwise", metric="held_out_loss")
    assert row["n"] == 2


def test_waiting_running_and_stopped_trials_are_named() -> None:
    assert status(snapshot([]), "baseline") == "waiting"
    assert status(snapshot([Trial("baseline", 1, TrialStatus.RUNNING)]), "baseline") == "running"
    stopped = Trial("baseline", 1).pretrained(6.25).judged(0, True, 6.5, 6.6).judged(1, False, 6.25, 6.2)
    one = document(seeds=(1,))
    assert status(snapshot([stopped], resolved=one), "baseline") == "stopped at hurdle 2, value 6.25"
    mixed = [stopped, full_trial("baseline", 2, ())]
    expected = "stopped at hurdle 2 (1 of 3 seeds), value 6.25; 1 of 3 seeds"
    assert status(snapshot(mixed), "baseline") == expected


def test_single_change_pairs_differ_in_one_path_and_exclude_the_baseline() -> None:
    table_rows = rows_of(build(table2()), "isolated", metric="held_out_loss")
    pairs = [(row["arm"], row["reference"], row["path"]) for row in table_rows]
    assert pairs == [(arm, "bottleneck", "convolution") for arm in ("depthwise", "dynamic", "span_dynamic")]
    assert table_rows[2]["delta"] == pytest.approx(-0.2017, abs=1e-4)


def test_a_diverged_fine_tuning_leaves_the_pretraining_counted() -> None:
    trial = Trial("baseline", 1, TrialStatus.DIVERGED).pretrained(6.0)
    trial.record("fine_tune", "docs_pair#1", {"step": 1, "loss": "nan"}, Status.DIVERGED)
    report = build(snapshot([trial], tasks=("docs_pair",)))
    counts = {row["metric"]: row["n"] for row in rows_of(report, "results", arm="baseline")}
    assert counts == {"held_out_loss": 1, "docs_pair": 0}


@pytest.mark.parametrize("tasks", [("docs_pair",), TASKS])
def test_the_mark_of_significance_names_the_family_of_every_column(tasks: tuple[str, ...]) -> None:
    shown = grid_of(build(table2(tasks), primary=primary), "results")
    (note,) = (note for note in shown.every_note if note.startswith("§"))
    assert ("on further metrics, for all tests on these" in note) == (len(tasks) > 1)

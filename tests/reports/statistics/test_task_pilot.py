"""The pilot of a scale: what exceeds its references, with intervals pooled over arms, and what is left unknown."""

from dataclasses import replace
from pathlib import Path
from statistics import fmean, stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from reports.report import build
from reports.sections.reference import reference_grid, reference_table
from reports.sections.task_pilot import PilotedArm, pilot_of, qualifying_tasks
from reports.statistics.reading import results_of
from steeplechase.commands.report import pilot
from steeplechase.ledger.snapshot import Snapshot
from steeplechase.ledger.task_standing import pooled
from tests.factories.read_reports import grid_of, rows_of
from tests.factories.reports import Trial, document, primary, shared, snapshot

TASK = "docs_pair"
SAMPLES = st.lists(st.lists(st.floats(0, 100), min_size=1, max_size=4), min_size=2, max_size=4)


def piloted(
    baseline: tuple[float, ...],
    other: tuple[float, ...],
    untrained: tuple[float, ...] = (50.0, 50.5, 51.0),
    **made: dict[str, float] | None,
) -> Snapshot:
    """Return a snapshot of two arms on one task with the references given; chance is 50 and words give 51.25."""
    trials = [
        Trial(arm, seed).pretrained(6.0).tuned(TASK, 1, **{primary(TASK): value, "other": value / 2})
        for arm, values in (("baseline", baseline), ("dynamic", other))
        for seed, value in enumerate(values, start=1)
    ]
    arms = {"baseline": {}, "dynamic": {"convolution": "dynamic"}}
    found = snapshot(trials, arms, (TASK,), tuning_seeds=(1,))
    seeds = [*range(1, len(untrained) + 1)]
    resolved = document((TASK,))
    resolved["fine_tuning"] = {**resolved["fine_tuning"], "untrained_seeds": seeds}
    references = [
        shared(
            "fine_tune",
            f"untrained {TASK}#{seed}",
            {"task": TASK, "seed": seed, "examples": 9, "scores": {primary(TASK): value, "other": 1.0}},
        )
        for seed, value in zip(seeds, untrained, strict=True)
    ]
    examples = {
        "task": TASK,
        "chance": 50.0,
        "bag_of_words": {primary(TASK): 51.25},
        "train": {"examples": 4000},
        "dev": {"examples": 1000},
        **made,
    }
    return replace(found, document=resolved, shared=(*references, shared("examples", f"examples {TASK}", examples)))


def by_arm(found: Snapshot) -> dict[str, PilotedArm]:
    return {one.arm: one for one in pilot_of(results_of(found, primary))}


@pytest.mark.parametrize(("untrained", "text"), [((50.0,), "50.0 ± ? (1)"), ((50.0, 51.0), "50.5 ± 0.7 (2)")])
def test_one_untrained_encoder_has_no_standard_deviation(untrained: tuple[float, ...], text: str) -> None:
    found = piloted((70.0,), (51.0,), untrained)
    (grid,) = reference_grid(reference_table(found, primary))
    assert any(cell.text == text for row in grid.rows for cell in row)


def test_an_arm_above_every_reference_qualifies_its_task_and_one_below_any_does_not() -> None:
    found = piloted((70.0, 71.0, 72.0), (51.0, 51.5, 52.0))
    assert qualifying_tasks(by_arm(found).values()) == (TASK,)
    arms = by_arm(found)
    assert (arms["baseline"].qualifies, arms["dynamic"].qualifies) == (True, False)
    assert arms["baseline"].exceeded == ("chance", "bag_of_words", "untrained")
    beside_ngram = by_arm(piloted((70.0, 71.0, 72.0), (51.0, 51.5, 52.0), ngram={primary(TASK): 71.0}))
    assert beside_ngram["baseline"].exceeded == ("chance", "bag_of_words", "untrained")
    assert not beside_ngram["baseline"].qualifies


def test_the_finding_ends_with_what_pretraining_is_worth() -> None:
    ngram = {primary(TASK): 90.0}
    scores = "dynamic 71.0, untrained 50.5, below n-gram 90.0"
    above = build(piloted((51.0, 51.5, 52.0), (70.0, 71.0, 72.0), ngram=ngram)).finding
    assert above.endswith(f". Pretraining shows on 1 of 1 tasks: {TASK} ({scores}).")
    level = build(piloted((50.0, 50.5, 51.0), (50.5, 51.0, 51.5))).finding
    assert level.endswith(". No arm is above the untrained encoder on any task.")
    for unknown in (piloted((70.0,), (51.0,), (50.0,)), piloted((70.0, 71.0), (51.0, 52.0), ())):
        assert "ntrained" not in build(unknown).finding


def test_without_untrained_encoders_or_without_a_spread_nothing_is_decided() -> None:
    assert {one.qualifies for one in by_arm(piloted((70.0, 71.0), (51.0, 52.0), ())).values()} == {None}
    alone = by_arm(piloted((70.0,), (51.0,), (50.0,)))
    assert {(one.low, one.qualifies) for one in alone.values()} == {(None, None)}


def test_intervals_are_students_with_the_pooled_spread_and_bonferronis_level() -> None:
    samples = (70.0, 71.0, 72.5), (51.0, 51.5, 53.0), (50.0, 50.5, 51.0)
    found = by_arm(piloted(*samples))["baseline"]
    spread = (sum(stdev(sample) ** 2 for sample in samples) / 3) ** 0.5
    half = stats.t.ppf(1 - 0.05 / 2 / 2, 6) * spread / 3**0.5
    assert (found.low, found.high) == pytest.approx((fmean(samples[0]) - half, fmean(samples[0]) + half))


def test_the_difference_to_untrained_encoders_has_the_spread_of_both() -> None:
    """At equal n an interval of a difference is wider by the root of two."""
    base, noise = 50.0, 1.0
    samples = [(base + shift - noise, base + shift, base + shift + noise) for shift in (0.0, 0.0)]
    half = stats.t.ppf(1 - 0.05 / 4, 6) * noise * (2 / 3) ** 0.5
    for margin, exceeds in ((0.01, True), (-0.01, False)):
        trained = tuple(value + half + margin for value in samples[0])
        found = by_arm(piloted(trained, samples[0], samples[1]))["baseline"]
        assert ("untrained" in found.exceeded) == exceeds


@given(SAMPLES)
def test_the_pooled_spread_is_that_of_an_analysis_of_variance(samples: list[list[float]]) -> None:
    spread, degrees = pooled(samples)
    assert degrees == sum(map(len, samples)) - len(samples)
    if spread is not None:
        variances = [stdev(sample) ** 2 * (len(sample) - 1) for sample in samples if len(sample) > 1]
        assert spread == pytest.approx((sum(variances) / degrees) ** 0.5, abs=1e-6)


def test_the_report_shows_the_pilot_where_untrained_encoders_were_asked_for_and_not_otherwise() -> None:
    asked = build(piloted((70.0, 71.0, 72.0), (51.0, 51.5, 52.0)), primary)
    grid = grid_of(asked, "task_pilot")
    assert grid.notes[0] == f"Qualifying tasks: {TASK}."
    rows = {row[1].text: row[-1].text for row in grid.rows}
    assert rows == {"baseline": "qualifies", "dynamic": "not above bag of words, untrained"}
    plain = build(snapshot([Trial("baseline", 1).pretrained(6.0)], {"baseline": {}}, (TASK,)), primary)
    assert "task_pilot" not in {grid.name for grid in plain.grids}
    assert not any("untrained" in row for row in rows_of(plain, "reference"))
    (row,) = rows_of(asked, "reference", metric=primary(TASK))
    assert (row["untrained"], row["untrained_n"]) == (50.5, 3)


def test_the_command_compares_the_arms_of_the_report(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = piloted((61.0, 62.0), (63.0, 64.0))
    own = replace(shown.arms[1], name="dynamic@own", tuned_from="dynamic")
    copies = (replace(each, trial=replace(each.trial, arm=own.name)) for each in shown.histories[2:])
    found = replace(shown, arms=(*shown.arms, own), histories=(*shown.histories, *copies))
    monkeypatch.setattr("steeplechase.commands.report.snapshot_at", lambda folder: found)
    pilot(Path("results"))
    printed = capsys.readouterr().out
    assert "dynamic" in printed
    assert "@own" not in printed

"""Attention locality: recorded C is the reported C in every reading, with paired differences."""

from typing import Any

import pytest

from reports.report import Report, build
from reports.sections.attention import AttentionMaps
from steeplechase.configuration.measurements.attention import ALL, PER_HEAD, TEXT, uniform_concentration
from steeplechase.ledger.snapshot import Snapshot
from tests.factories.read_reports import figure_data, picture, rows_of
from tests.factories.reports import Trial, document, snapshot

ARMS: dict[str, dict[str, Any]] = {"baseline": {}, "mixed": {"bottleneck_ratio": 2}, "blind": {"heads": 8}}
NEAR = {"baseline": 0.5, "mixed": 0.4, "blind": 0.45}
CLAIM = "attention_diagonal(mixed) < attention_diagonal(baseline)"


def looked(trial: Trial, near: float, layers: int = 2) -> Trial:
    heads = [
        [layer, head, near + 0.1 * head, 1 - near - 0.1 * head, 0.2, 0.6]
        for layer in range(layers)
        for head in (0, 1)
    ]
    maps = [[[100] * 8] * 8] * layers
    result = {"length": 64, "within": 4, "sequences": 16, "heads": heads, "maps": maps}
    return trial.record("attention", "attention", result)


def view(layers: int = 2) -> Snapshot:
    trials = [
        looked(Trial(arm, seed).pretrained(5.0 + seed / 50), NEAR[arm] + seed / 100, layers)
        for arm in ARMS
        for seed in (1, 2, 3)
    ]
    return snapshot(trials, ARMS, resolved=document(claims=[CLAIM]))


def rows(report: Report, reading: str) -> dict[str, Any]:
    return {row["arm"]: row for row in rows_of(report, "attention_diagonal", reading=reading, layer=None)}


@pytest.mark.parametrize(("length", "facts"), [(32, 0.355), (512, 0.018)])
def test_uniform_attention_has_the_c_of_the_closed_form(length: int, facts: float) -> None:
    assert uniform_concentration(length, 4) == pytest.approx(facts, abs=6e-4)  # worked out by hand


def test_c_is_mass_near_over_mass_far_in_every_reading() -> None:
    report = build(view())
    ratios = [(0.51 + s / 100 + 0.05, 0.49 - s / 100 - 0.05) for s in (0, 1, 2)]
    expected = sum(near / far for near, far in ratios) / 3
    assert rows(report, ALL)["baseline"]["mean"] == pytest.approx(expected)
    assert rows(report, TEXT)["baseline"]["mean"] == pytest.approx(1 / 3)
    by_head = [(n / (1 - n) + (n + 0.1) / (0.9 - n)) / 2 for n in (0.51, 0.52, 0.53)]
    assert rows(report, PER_HEAD)["baseline"]["mean"] == pytest.approx(sum(by_head) / 3)


def test_differences_are_paired_and_the_claim_is_tested_on_them() -> None:
    report = build(view())
    mixed = rows(report, ALL)["mixed"]
    assert (mixed["n"], mixed["high"] < 0) == (3, True)
    assert rows_of(report, "claims")[0]["verdict"] == "as stated here"
    assert "In attention locality, mixed differs most" in report.finding


def test_a_description_has_no_verdict() -> None:
    for name in ("results", "effects"):
        assert not rows_of(build(view()), name, metric="attention_diagonal")


def test_an_arm_without_attention_is_left_out_and_without_any_there_is_no_section() -> None:
    trials = [Trial("baseline", seed).pretrained(5.0) for seed in (1, 2)]
    plain = build(snapshot(trials, {"baseline": {}}))
    assert picture(plain, "attention") is None
    assert not rows_of(plain, "attention_diagonal")
    some = build(snapshot([*trials, looked(Trial("mixed", 1).pretrained(5.0), 0.3)], ARMS))
    assert [one.arm for one in figure_data(some, AttentionMaps).arms] == ["mixed"]


@pytest.mark.parametrize("layers", [1, 12])
def test_first_and_last_layers_are_drawn_and_some_of_many_others(layers: int) -> None:
    maps = figure_data(build(view(layers)), AttentionMaps)
    assert (maps.layers[0], maps.layers[-1], len(maps.layers)) == (1, layers, min(layers, 6))
    (picture,) = (one for one in build(view(layers)).pictures if one.name == "attention")
    assert "mixed" in picture.svg


def test_mass_that_is_not_finite_shows_nothing() -> None:
    heads = [[0, 0, float("nan"), 0.5, 0.2, 0.6]]
    result = {"length": 64, "within": 4, "sequences": 16, "heads": heads, "maps": []}
    trial = Trial("baseline", 1).pretrained(5.0).record("attention", "attention", result)
    assert picture(build(snapshot([trial], {"baseline": {}})), "attention") is None

"""The figure of a ladder: its rungs with their steps."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from reports.report import build
from reports.sections.ladder import Ladder
from search_space.candidate import Candidate
from search_space.overrides import applied
from steeplechase.ledger.records import ArmRow
from steeplechase.ledger.snapshot import Snapshot
from tests.factories.read_reports import figure_data, picture
from tests.factories.reports import Trial, document, snapshot

PARTS: dict[str, dict[str, Any]] = {
    "wide": {"feed_forward_width": 2048},
    "bottleneck": {"bottleneck_ratio": 2},
    "convolution": {"convolution": "dynamic"},
}
"""Not in alphabetical order."""
BASELINE = Candidate()
LOSSES = {"baseline": 5.0, "+wide": 4.8, "+bottleneck": 4.9, "+convolution": 4.5}


def view(extra: dict[str, dict[str, bool]] | None = None, seeds: tuple[int, ...] = (1, 2, 3)) -> Snapshot:
    levels: dict[str, Any] = {"baseline": {}}
    for rung, part in enumerate(PARTS):
        levels[f"+{part}"] = {one: position <= rung for position, one in enumerate(PARTS)}
    levels |= extra or {}
    arms = tuple(
        ArmRow(
            name,
            applied(
                BASELINE, {path: value for part in PARTS if given.get(part) for path, value in PARTS[part].items()}
            ),
            {},
            given,
            position=position,
            cohort=0,
            parameters=1000 + position,
            forward_flops=10,
            train_flops=10**12 + position,
        )
        for position, (name, given) in enumerate(levels.items())
    )
    trials = [
        Trial(name, seed).pretrained(LOSSES.get(name, 6.0) + seed / 20 + (position * seed) % 3 / 100)
        for position, name in enumerate(levels)
        for seed in seeds
    ]
    design = {"kind": "ladder", "components": {part: PARTS[part] for part in sorted(PARTS)}}
    resolved = document(seeds=seeds, design=design, baseline=BASELINE.model_dump(mode="json"))
    return replace(snapshot(trials, {}, resolved=resolved), arms=arms)


def ladder(result: Snapshot) -> Ladder:
    return figure_data(build(result), Ladder)


def test_rungs_are_in_the_order_in_which_components_were_added() -> None:
    assert [rung.name for rung in ladder(view()).rungs] == ["baseline", "+ wide", "+ bottleneck", "+ convolution"]


def test_a_step_is_the_paired_difference_to_the_rung_below() -> None:
    rungs = ladder(view()).rungs
    assert rungs[0].steps["held_out_loss"].delta is None
    for below, rung in pairwise(rungs):
        step, mine, its = (rung.steps["held_out_loss"], rung.means["held_out_loss"], below.means["held_out_loss"])
        assert mine is not None
        assert its is not None
        assert step.delta == pytest.approx(mine - its)
        assert step.n == 3


def test_other_designs_over_the_same_components_do_not_change_the_ladder() -> None:
    others = {
        "bottleneck only": {"wide": False, "bottleneck": True, "convolution": False},
        "without wide": {"wide": False, "bottleneck": True, "convolution": True},
    }
    assert [rung.arm for rung in ladder(view(others)).rungs] == list(LOSSES)


def test_a_ladder_of_which_nothing_was_measured_is_none() -> None:
    full = view()
    assert picture(build(replace(full, histories=())), "ladder") is None

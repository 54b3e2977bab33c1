"""What the finding of a report says of seeds that diverged."""

from dataclasses import replace

import pytest

from reports.report import build
from tests.factories.reports import TOKENS, Trial, document, snapshot, tuned

SEEDS = (1, 2, 3)
LOST = [
    {"wide": (1,)},
    {"wide": (1, 3), "deep": (2,)},
    {"baseline": (2,), "wide": (1,)},
    {"wide": SEEDS},
    {"baseline": SEEDS},
    {"baseline": SEEDS, "wide": SEEDS, "deep": SEEDS},
]


@pytest.mark.parametrize("lost", LOST)
def test_every_arm_with_diverged_seeds_is_named_in_the_finding(lost: dict[str, tuple[int, ...]]) -> None:
    arms = {"baseline": {}, "wide": {"width": 512}, "deep": {"depth": 6}}
    trials = [
        Trial(arm, seed).diverged()
        if seed in lost.get(arm, ())
        else Trial(arm, seed).pretrained(6.0 - place + seed / 50)
        for place, arm in enumerate(arms)
        for seed in SEEDS
    ]
    finding = build(snapshot(trials, arms)).finding
    shares = ", ".join(f"{arm} ({len(lost[arm])} of 3 seeds)" for arm in arms if arm in lost)
    assert f"iverged, and in no mean: {shares}." in finding
    assert ("no arm can be compared: the baseline diverged" in finding) == (lost == {"baseline": SEEDS})
    assert finding.startswith("No result: 9 of 9 trials have ended") == (len(lost) == 3)
    assert "not been measured" not in finding


def test_a_baseline_without_a_seed_that_ends_gets_no_more_seeds_and_the_finding_says_so() -> None:
    rule = {"start": 3, "max": 9, "margin": {"held_out_loss": 0.01}}
    pretraining = {"tokens": TOKENS, "seeds": {"until_decided": rule}}
    trials = [
        *(Trial("baseline", seed).diverged() for seed in SEEDS),
        *(Trial("wide", seed).pretrained(6.0 + seed / 50) for seed in SEEDS),
    ]
    shown = snapshot(trials, {"baseline": {}, "wide": {"width": 512}}, resolved=document(pretraining=pretraining))
    assert "the baseline diverged in all 3 seeds, and until_decided adds none" in build(shown).finding


SELECTED = "tuning selected the shared recipe"


@pytest.mark.parametrize(
    ("lost", "selected"),
    [
        ((), f"For every arm {SELECTED}."),
        (("narrow",), f"For every other arm {SELECTED}."),
        (("baseline", "narrow", "dynamic"), ""),
    ],
)
def test_a_recipe_that_no_point_of_tuning_gave_was_not_selected(lost: tuple[str, ...], selected: str) -> None:
    found = tuned()
    assert found.tuning is not None
    choices = tuple(
        choice.model_copy(
            update={"point": 0, "own": choice.arm, "values": (None,) * 3 if choice.arm in lost else (6.0, 6.1, None)}
        )
        for choice in found.tuning.choices
    )
    shared = tuple(row for row in found.arms if row.tuned_from is None)
    finding = build(replace(found, arms=shared, tuning=replace(found.tuning, choices=choices))).finding
    assert (SELECTED in finding) == bool(selected)
    assert selected in finding
    assert (
        f"In tuning a seed of every point diverged, so that the shared recipe stays: {', '.join(lost)}." in finding
    ) == (bool(lost))

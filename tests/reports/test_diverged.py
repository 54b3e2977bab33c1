"""What the finding of a report says of seeds that diverged."""

from dataclasses import replace
from statistics import fmean

import pytest

from reports.report import build
from steeplechase.ledger.records import Status, TrialStatus
from tests.factories.read_reports import picture, rows_of
from tests.factories.reports import TOKENS, Trial, document, search_design, snapshot, tuned

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


def test_a_seed_that_diverged_in_fine_tuning_counts_in_all_that_is_read_from_its_pretraining() -> None:
    """The mean of the results, the curve, and the loss that every seed of the baseline reaches."""
    arms = {"baseline": {}, "wide": {"width": 512}}
    losses = {"baseline": (4.0, 4.1, 4.3), "wide": (3.5, 3.6, 3.55)}
    trials = [Trial(arm, seed).pretrained(loss) for arm, of in losses.items() for seed, loss in enumerate(of, 1)]
    trials[2].record("fine_tune", "docs_pair#1", {"loss": "nan"}, Status.DIVERGED).status = TrialStatus.DIVERGED
    built = build(snapshot(trials, arms, tasks=("docs_pair",), tuning_seeds=(1,), resolved=document(("docs_pair",))))
    (measured,) = rows_of(built, "results", arm="baseline", metric="held_out_loss")
    curves = picture(built, "curves")
    assert curves is not None
    end = [row for row in curves.numbers.rows if (row["arm"], row["tokens"]) == ("baseline", TOKENS)]
    assert (
        [(row["n"], row["loss"]) for row in end]
        == [(measured["n"], measured["mean"])]
        == [(3, fmean(losses["baseline"]))]
    )
    to_loss = {row["arm"]: row for row in rows_of(built, "tokens_to_loss")}
    assert to_loss["wide"]["loss"] == max(losses["baseline"])
    assert to_loss["baseline"]["reached"] == 3
    assert to_loss["wide"]["tokens_ratio"] is not None


def test_candidates_are_ranked_at_seeds_at_which_the_baseline_diverged_in_fine_tuning_alone() -> None:
    """The differences are those of the results."""
    arms = {"baseline": {}, "c001": {"bottleneck_ratio": 2}}
    trials = [
        Trial(arm, seed).pretrained(6.0 - place + seed * (place + 1) / 50)
        for place, arm in enumerate(arms)
        for seed in (1, 2)
    ]
    trials[0].record("fine_tune", "docs_pair#1", {"loss": "nan"}, Status.DIVERGED).status = TrialStatus.DIVERGED
    resolved = document(("docs_pair",), seeds=(1, 2), design=search_design())
    built = build(snapshot(trials, arms, tasks=("docs_pair",), tuning_seeds=(1,), resolved=resolved))
    (measured,) = rows_of(built, "results", arm="c001", metric="held_out_loss")
    (ranked,) = rows_of(built, "candidates", arm="c001")
    assert (ranked["rank"], ranked["seeds"]) == (1, "1 2")
    assert ranked["delta"] == pytest.approx(measured["delta"])
    assert not [note for note in built.notes if note.startswith("Not ranked")]


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


def test_a_seed_that_diverges_in_fine_tuning_is_in_the_means_of_what_it_reached() -> None:
    trials = [Trial(arm, seed).pretrained(6.0 - seed / 50) for arm in ("baseline", "wide") for seed in SEEDS]
    trials[-1].record("fine_tune", "rte#1", {"task": "rte", "seed": 1, "step": 3, "loss": "nan"}, Status.DIVERGED)
    trials[-1].status = TrialStatus.DIVERGED
    report = build(snapshot(trials, {"baseline": {}, "wide": {"width": 512}}, ("rte",), (1,)))
    (row,) = rows_of(report, "results", arm="wide", metric="held_out_loss")
    said = "wide (1 of 3 seeds)"
    assert row["n"] == 3
    assert f"iverged in fine-tuning, and in no mean of what they did not reach: {said}." in report.finding
    assert dict(report.footer)["Diverged"].endswith("1 of 3 trials, left out of the means of what they did not reach")


def test_every_arm_is_better_only_where_every_arm_has_a_mean() -> None:
    arms = {"baseline": {}, "wide": {"width": 512}, "deep": {"depth": 6}}
    better = [Trial(arm, s).pretrained(6 - place + s / 50) for place, arm in enumerate(arms) for s in SEEDS]
    assert "every arm is significantly better" in build(snapshot(better, arms)).finding
    trials = [*better, *(Trial("lost", seed).diverged() for seed in SEEDS)]
    assert "every arm" not in build(snapshot(trials, {**arms, "lost": {"depth": 2}})).finding

"""The finding: a computed sentence, null results included."""

from dataclasses import replace
from typing import Any

import pytest

from reports.formats import format_names, render
from reports.report import Report, build
from reports.table import Cell
from search_space.candidate import Candidate
from search_space.recipe import Recipe
from tests.factories.read_reports import grid_of, rows_of
from tests.factories.reports import Trial, document, empty, search, snapshot, table2, troubled


def ends(losses: dict[str, tuple[float, ...]], **more: Any) -> str:
    """Return the finding on arms with these final losses, one per seed; seeds without one failed."""
    trials = [
        Trial(arm, seed).pretrained(of_arm[seed - 1]) if seed <= len(of_arm) else Trial(arm, seed).failed()
        for arm, of_arm in losses.items()
        for seed in (1, 2, 3)
    ]
    arms = {arm: {"width": 64 * place} if place else {} for place, arm in enumerate(losses)}
    return build(snapshot(trials, arms=arms, resolved=document(**more))).finding


CALM = (6.0, 6.01, 5.99)
"""Losses of a baseline whose seeds differ little."""
ONE_ARM = [
    (CALM, (5.8, 5.81, 5.79), {}, "wide has the best mean and is significantly better than the baseline (Δ −0.200 ["),
    (
        CALM,
        (6.2, 6.21, 6.19),
        {},
        "all means are worse than the baseline's, the nearest, wide, is significantly worse",
    ),
    (
        CALM,
        (5.7, 6.2, 5.9),
        {},
        "the arm with the best mean, wide, does not differ significantly from the baseline (Δ",
    ),
    (CALM, (6.3, 5.8, 6.1), {}, "the baseline has the best mean, and the nearest arm, wide, does not differ signif"),
    (CALM, (6.1,), {}, "one seed gives no interval (best mean: baseline, nearest: wide, Δ +0.100 [?], n = 1)"),
    (CALM, (3.0,), {}, "one seed gives no interval (best mean: wide, Δ −3.000 [?], n = 1)"),
    (
        *((6.0, 6.001, 6.002), (6.003, 6.004, 6.005), {"equivalence_margin": {"held_out_loss": 0.1}}),
        "the baseline has the best mean, and the nearest arm, wide, is equivalent to the baseline within ±0.1",
    ),
]


@pytest.mark.parametrize(("baseline", "wide", "more", "text"), ONE_ARM)
def test_the_verdict_on_one_arm_has_its_words(
    baseline: tuple[float, ...], wide: tuple[float, ...], more: dict[str, Any], text: str
) -> None:
    assert f"on held-out loss {text}" in ends({"baseline": baseline, "wide": wide}, **more).replace("On", "on", 1)


def test_an_interval_beside_zero_that_correction_undoes_is_reported_as_that() -> None:
    arms = {"wide": (5.91, 5.8, 5.86), "deep": (5.9, 6.1, 5.98), "narrow": (6.1, 5.9, 6.0)}
    found = ends({"baseline": (6.0, 6.0, 6.0), **arms})
    assert "wide, does not differ significantly from the baseline after the correction (Δ −0.14" in found


def test_a_best_mean_of_one_seed_does_not_hide_another_arm_that_is_significantly_better() -> None:
    found = ends({"baseline": CALM, "wide": (5.0,), "deep": (5.2, 5.21, 5.19)})
    assert "(best mean: wide, Δ −1.000 [?], n = 1); deep is significantly better. Failed" in found


def test_significant_arms_beside_the_best_mean_are_named() -> None:
    near = {
        "baseline": (6.0, 6.01, 5.99),
        "wide": (5.8, 5.81, 5.79),
        "deep": (5.9, 5.91, 5.89),
        "flat": (6.2, 6.21, 6.19),
    }
    assert "n = 3); deep is also significantly better; flat is significantly worse." in ends(near)
    beside = near | {"close": (5.8, 5.82, 5.79)}
    assert "deep, close are also significantly better; close is not distinguishable from wide (" in ends(beside)
    worse = {f"arm{number}": tuple(6.2 + number / 10 + seed / 100 for seed in (0, 1, 2)) for number in range(7)}
    found = ends({"baseline": (6.0, 6.01, 6.02), **worse})
    assert "the nearest, arm0, is significantly worse (Δ +0.200" in found
    assert found.endswith("; arm1, arm2, arm3, arm4 and 2 more are also significantly worse.")
    level = {"baseline": (6.0, 6.4, 6.2), "wide": (6.1, 6.3, 6.2), "deep": (6.5, 5.9, 6.2)}
    assert "significantly better" not in ends(level)
    assert "significantly worse" not in ends(level)


def test_claims_and_orderings_of_the_paper_are_counted_by_outcome() -> None:
    losses = {"baseline": (6.0, 6.01, 5.99), "wide": (5.8, 5.81, 5.79), "deep": (5.9, 5.91, 5.89)}
    paper = {"source": "a paper", "statement": "wide is best", "orderings": ["baseline > wide > deep"]}
    found = ends(losses, paper=paper, claims=["held_out_loss(wide) < held_out_loss(baseline)"])
    assert found.endswith(
        ". Of 2 orderings of the paper 1 is as stated here, 1 opposite here: baseline > wide on held-out "
        "loss. The only claim of the experiment is as stated here."
    )
    assert "ordering" not in ends(losses)
    against = ends(losses, claims=[f"held_out_loss({first}) > held_out_loss(baseline)" for first in ("wide", "deep")])
    assert against.endswith(
        "Of 2 claims of the experiment none is as stated here, 2 opposite here: "
        "held_out_loss(wide) > held_out_loss(baseline), held_out_loss(deep) > held_out_loss(baseline)."
    )


@pytest.mark.parametrize(
    ("recipe", "flops", "said"),
    [
        ({}, 3, "at equal compute: arms have the baseline's tokens, and 1 to 3 times its pretraining FLOPs."),
        ({"token_share": 0.5}, 0.4, "arms have 0.5 to 1 times the baseline's tokens, and 0.4 to 1 times its"),
        ({}, 1, ""),
    ],
)
def test_the_box_says_how_far_tokens_and_flops_are_from_the_baselines(
    recipe: dict[str, float], flops: float, said: str
) -> None:
    told = snapshot([Trial(arm, 1).pretrained(6.0) for arm in ("baseline", "wide")], {"baseline": {}, "wide": {}})
    baseline, wide = told.arms
    candidate = Candidate(recipe=Recipe(**recipe))
    wide = replace(wide, candidate=candidate, train_flops=round(flops * baseline.train_flops))
    limits = build(replace(told, arms=(baseline, wide))).limits
    assert said in limits
    assert ("compute" in limits) == bool(said)


def test_nothing_measured_is_said() -> None:
    assert build(empty()).finding == "No result yet: no trial has begun."
    assert build(snapshot([Trial("baseline", 1).diverged()])).finding.startswith("No result yet: 1 of 15")


def paired_where_a_seed_is_missing(outlier: float, apart: float) -> str:
    """Return the finding on an arm that lacks the baseline's first seed and is `apart` at the others."""
    noise = {2: 0.011, 3: -0.004, 4: 0.002, 5: -0.009}
    trials = [Trial("baseline", 1).pretrained(6.0 + outlier)]
    trials += [Trial("baseline", seed).pretrained(6.0) for seed in noise]
    trials += [Trial("wide", seed).pretrained(6.0 + apart + value) for seed, value in noise.items()]
    resolved = document(seeds=(1, 2, 3, 4, 5), comparison="paired")
    return build(snapshot(trials, {"baseline": {}, "wide": {"width": 512}}, resolved=resolved)).finding


def test_means_are_ranked_by_all_seeds_where_pairs_have_the_other_sign() -> None:
    worse_at_pairs = paired_where_a_seed_is_missing(outlier=2.0, apart=0.1)
    assert "wide has the best mean, but at the seeds that both have it is significantly worse" in worse_at_pairs
    better_at_pairs = paired_where_a_seed_is_missing(outlier=-2.0, apart=-0.1)
    assert "the baseline has the best mean, but at the seeds that both have the nearest arm" in better_at_pairs
    undecided = paired_where_a_seed_is_missing(outlier=2.0, apart=0.005)
    assert "the arm with the best mean, wide, does not differ significantly" in undecided
    assert "all means are worse than the baseline's" in paired_where_a_seed_is_missing(outlier=0.0, apart=0.1)
    assert "wide has the best mean and is significantly" in paired_where_a_seed_is_missing(outlier=0.0, apart=-0.1)


def test_failed_trials_are_named_with_their_reason_in_finding_and_conditions() -> None:
    reason = "TypeError: forward() takes 2 positional arguments. 3 were given."
    trials = [Trial("baseline", seed).pretrained(6.0 + seed / 50) for seed in (1, 2)]
    trials += [Trial(arm, seed).failed(reason) for arm in ("gated1", "gated2") for seed in (1, 2)]
    trials += [Trial("wide", 1).pretrained(5.9), Trial("wide", 2).failed("worker died")]
    arms = {"baseline": {}, "gated1": {"width": 512}, "gated2": {"width": 128}, "wide": {"depth": 6}}
    report = build(snapshot(trials, arms, resolved=document(seeds=(1, 2))))
    for text in (report.finding, dict(report.footer)["Failed"]):
        assert "gated1 (2 of 2), gated2 (2 of 2): TypeError: forward() takes 2 positional arguments" in text
        assert "wide (1 of 2): worker died" in text
    for form in format_names():
        if form != "csv":  # the results table alone
            assert "TypeError" in render(report, form), form
    nothing = build(snapshot([Trial("baseline", 1).failed("worker died")], {"baseline": {}}))
    assert nothing.finding.endswith("failed: baseline (1 of 1): worker died.")
    assert "Failed" not in dict(build(table2()).footer)


def test_an_arm_with_the_baselines_mean_is_not_called_the_best() -> None:
    same = ends({"baseline": (6.0, 6.0, 6.0), "wide": (6.0, 6.0, 6.0)})
    assert "3 seeds give no interval (wide has the baseline's mean, Δ 0.000" in same
    assert "best mean" not in same


def scored(baseline: float, wide: float, spread: float = 0.5, loss_spread: float = 0.0, **more: Any) -> Report:
    """Return two arms on one task, of which chance is 50, by their mean accuracy over three seeds."""
    trials = [
        Trial(arm, seed)
        .pretrained(6.0 - position + loss_spread * seed)
        .tuned("docs_pair", 1, accuracy=mean + spread * (seed - 2))
        for position, (arm, mean) in enumerate({"baseline": baseline, "wide": wide}.items())
        for seed in (1, 2, 3)
    ]
    trials[-1].tuned("docs_pair", 1, accuracy=wide + spread * 1.01)
    arms = {"baseline": {}, "wide": {"width": 512}}
    resolved = document(["docs_pair"], fine_tuning={"tasks": ["docs_pair"], "seeds": [1]}, **more)
    return build(snapshot(trials, arms, ("docs_pair",), tuning_seeds=(1,), resolved=resolved))


def test_a_task_below_a_reference_is_not_claimed_and_no_part_of_the_gate() -> None:
    at_chance = scored(47.0, 49.2)
    assert (
        "On docs_pair no difference is claimed, because the mean over all arms does not significantly exceed every "
        "reference" in at_chance.finding
    )
    assert "better" not in at_chance.finding.partition("docs_pair")[2]
    assert not column(at_chance, "effects", "verdict", "docs_pair")
    assert any(note.startswith("below reference: on docs_pair") for note in at_chance.notes)
    results = grid_of(at_chance, "results")
    assert "docs_pair, below reference" in {column.group for column in results.columns}
    (row,) = rows_of(at_chance, "effects", metric="docs_pair")
    assert (row["verdict"], row["p_adjusted"] < 0.05) == ("not testable at this size", True)
    assert not any("§" in cell.text for shown in results.rows for cell in shown)


def headlines(*metrics: str, score: float = 70.0) -> Report:
    """Return a report on two arms and one task with these headline metrics; the losses do not differ."""
    return scored(50.0, score, loss_spread=2.0, headline_metrics=[*metrics])


def test_the_score_is_tested_without_a_gate_where_it_is_the_only_headline_metric() -> None:
    (both,) = rows_of(headlines("held_out_loss", "score"), "effects", metric="docs_pair")
    (alone,) = rows_of(headlines("score"), "effects", metric="docs_pair")
    assert both["p"] == alone["p"] == alone["p_adjusted"]
    assert both["p_adjusted"] > 0.05, "the gate is shut"
    assert (both["verdict"], alone["verdict"]) == ("undecided", "helps")
    report = headlines("score")
    assert report.finding.startswith("On docs_pair wide has the best mean and is significantly better")
    assert "held-out loss" not in report.finding
    assert not column(report, "effects", "verdict", "held-out loss")
    assert not any(note.startswith("Order of tests:") for note in grid_of(report, "effects").notes)
    assert headlines("held_out_loss").finding.startswith("On held-out loss")


def test_a_report_whose_only_headline_task_is_below_a_reference_says_so() -> None:
    report = headlines("score", score=49.2)
    said = "On docs_pair no difference is claimed, because the mean over all arms"
    assert report.finding.startswith(said)
    assert report.summary is not None
    assert report.summary.finding[0].startswith(said)
    assert all(render(report, name) for name in format_names())


def test_a_claim_on_a_task_below_a_reference_is_not_tested() -> None:
    """The loss says enough about its claim; a score that guessing reaches says nothing about its own."""
    claims = ["held_out_loss(wide) < held_out_loss(baseline)", "docs_pair(wide) > docs_pair(baseline)"]
    at_chance, above = (scored(*means, claims=claims, loss_spread=0.1) for means in ((47.0, 49.2), (60.0, 62.2)))
    on_loss, on_task = rows_of(at_chance, "claims")
    assert (on_loss["verdict"], on_task["verdict"]) == ("as stated here", "not testable at this size")
    assert (on_task["p_supported"], on_task["power"], on_task["n"]) == (None, None, 3)
    assert "Of 2 claims of the experiment 1 is as stated here, 1 not testable at this size" in at_chance.finding
    shown = grid_of(at_chance, "claims")
    assert any(
        "on docs_pair the arms do not exceed every reference" in str(cell) for row in shown.rows for cell in row
    )
    assert "over the 2 claims, those that are not testable included" in " ".join(shown.notes)
    assert "not tested" not in above.finding


def test_a_difference_is_claimed_if_the_mean_over_arms_exceeds_every_reference() -> None:
    for baseline, wide in ((60.0, 62.2), (50.0, 70.0)):
        report = scored(baseline, wide)
        assert "On docs_pair wide has the best mean and is significantly better than the baseline" in report.finding
        assert not any(note.startswith("below reference:") for note in report.notes)
    assert "On docs_pair all means are worse than the baseline's" in scored(70.0, 50.0).finding


def column(report: Report, grid: str, title: str, metric: str) -> list[Cell]:
    found = grid_of(report, grid)
    place = [column.title for column in found.columns].index(title)
    return [row[place] for row in found.rows if row[1].text == metric]


def test_every_statement_of_a_finding_is_one_sentence() -> None:
    for view in (table2(), troubled(), search(), empty()):
        report = build(view)
        assert all(statement.endswith(".") and ". " not in statement for statement in report.statements)
        assert render(report, "html").count("<li>") >= len(report.statements) * (len(report.statements) > 1)

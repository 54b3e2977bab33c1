"""Claims: outcome, probability and power."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from reports.claim_row import PowerBySeeds
from reports.report import build
from reports.statistics.claims import ClaimOutcome, TestedClaim, decide, family_of
from reports.statistics.reading import results_of
from steeplechase.analysis.difference import MeanTest
from steeplechase.analysis.effects import difference_of, estimate
from steeplechase.configuration.claims import Claim, Sign, claim_of, parse_claim
from steeplechase.ledger.snapshot import Snapshot
from tests.factories.read_reports import grid_of, rows_of
from tests.factories.reports import TOKENS, Trial, document, primary, snapshot, table2

SIZES = st.integers(1, 400).map(lambda value: value / 8)


def judged(differences: list[float], text: str) -> tuple[ClaimOutcome, float | None]:
    tested = claimed(parse_claim(text), differences)
    return tested.pointwise, tested.probability


def claimed(claim: Claim, differences: list[float]) -> TestedClaim:
    values = dict(enumerate(differences))
    nothing = dict.fromkeys(values, 0.0)
    found = estimate(values, nothing, MeanTest.PAIRED)
    return decide(claim, found, difference_of(values, nothing, test=MeanTest.PAIRED))


@given(
    st.lists(st.lists(st.integers(-40, 40).map(lambda v: v / 8), min_size=3, max_size=5), min_size=1, max_size=6),
    st.lists(st.sampled_from(["s(a) > s(b)", "s(a) < s(b) by 1", "s(a) ~ s(b) within 2"]), min_size=6, max_size=6),
)
def test_a_family_supports_no_more_than_its_claims_alone(samples: list[list[float]], texts: list[str]) -> None:
    tested = [claimed(parse_claim(text), sample) for text, sample in zip(texts, samples, strict=False)]
    family = family_of(tested)
    for judged_claim in family:
        alone = judged_claim.tested.pointwise
        assert judged_claim.outcome in (alone, ClaimOutcome.UNDECIDED)
        (by_itself,) = family_of([judged_claim.tested])
        if judged_claim.tested.claim.sign is not Sign.LEVEL:
            assert by_itself.outcome is alone
    if len(family) == 1:
        assert judged_claim.corrected == by_itself.corrected


@pytest.mark.parametrize(
    ("differences", "text", "outcome"),
    [
        ([1.0, 1.1, 0.9], "score(a) > score(b)", ClaimOutcome.SUPPORTED),
        ([1.0, 1.1, 0.9], "score(a) > score(b) by 0.5", ClaimOutcome.SUPPORTED),
        ([1.0, 1.1, 0.9], "score(a) > score(b) by 1", ClaimOutcome.UNDECIDED),
        ([1.0, 1.1, 0.9], "score(a) > score(b) by 2", ClaimOutcome.CONTRADICTED),
        ([1.0, 1.1, 0.9], "score(a) < score(b)", ClaimOutcome.CONTRADICTED),
        ([1.0, 1.1, 0.9], "score(a) ~ score(b) within 2", ClaimOutcome.SUPPORTED),
        ([0.2, 0.3, 0.1], "score(a) ~ score(b) within 0.1", ClaimOutcome.NOT_TESTED),
        (
            [1.0, 1.1, 0.9],
            "score(a) ~ score(b) within 0.1",
            ClaimOutcome.CONTRADICTED,
        ),  # without power for its support
        ([1.0, 1.001, 0.999], "score(a) ~ score(b) within 0.1", ClaimOutcome.CONTRADICTED),
        ([1.0, -1.0, 0.9], "score(a) > score(b)", ClaimOutcome.UNDECIDED),
        ([1.0], "score(a) > score(b)", ClaimOutcome.UNDECIDED),
        ([1.0, 1.0, 1.0], "score(a) > score(b)", ClaimOutcome.UNDECIDED),
        ([0.1, -0.1, 0.05], "score(a) ~ score(b) within 1e-9", ClaimOutcome.NOT_TESTED),
    ],
)
def test_outcomes(differences: list[float], text: str, outcome: ClaimOutcome) -> None:
    assert judged(differences, text)[0] is outcome


@given(st.lists(st.integers(-40, 40).map(lambda v: v / 8), min_size=2, max_size=8), SIZES)
def test_probabilities_are_those_of_students_t(differences: list[float], size: float) -> None:
    if len(set(differences)) == 1:
        return
    n = len(differences)
    posterior = stats.t(n - 1, np.mean(differences), np.std(differences, ddof=1) / n**0.5)
    above, level = posterior.sf(size), posterior.cdf(size) - posterior.cdf(-size)
    assert judged(differences, f"s(a) > s(b) by {size}")[1] == pytest.approx(above, abs=1e-9)
    probability = judged(differences, f"s(a) ~ s(b) within {size}")[1]
    assert probability == (pytest.approx(level, abs=1e-9) if size else None)


def test_a_claim_that_is_not_tested_counts_in_the_family() -> None:
    """Results say which are tested, so that a smaller family would follow from them."""
    tested, untested = (
        claimed(parse_claim("s(a) > s(b)"), [1.0, 1.1, 0.9]),
        claimed(parse_claim("t(a) > t(b)"), [1.0]),
    )
    (alone,), (within, other) = family_of([tested]), family_of([tested, untested])
    assert alone.corrected.outside is not None
    assert within.corrected.outside == pytest.approx(2 * alone.corrected.outside)
    assert (other.corrected.outside, other.corrected.inside) == (None, None)


def test_claims_of_one_study_are_one_family_and_a_repeated_claim_is_one_test() -> None:
    claim, other = parse_claim("s(a) > s(b)"), parse_claim("s(a) > s(b) by 0.5")
    tested, elsewhere = claimed(claim, [1.0, 1.1, 0.9]), claimed(other, [1.0, 1.3, 0.8])
    (alone,) = family_of([tested])
    (within,) = family_of([tested], [elsewhere])
    assert alone.corrected.outside is not None
    assert within.corrected.outside == pytest.approx(2 * alone.corrected.outside)
    assert family_of([tested, tested]) == (alone, alone)


def rows(view: Snapshot) -> list[dict[str, Any]]:
    return rows_of(build(view), "claims")


def test_a_report_tests_the_claims_of_experiment_and_paper() -> None:
    claims = ["held_out_loss(span_dynamic) < held_out_loss(dynamic) by 0.1", "score(dynamic) > score(nobody)"]
    view = table2()
    first, second, *stated = rows(replace(view, document={**view.document, "claims": claims}))
    assert (first["claim"], first["by"], first["n"]) == (claims[0], "experiment", 3)
    values = results_of(view, primary).values
    second_mean, first_mean = (values[arm]["held_out_loss"] for arm in ("dynamic", "span_dynamic"))
    oracle = stats.ttest_ind([*first_mean.values()], [*second_mean.values()], equal_var=False)
    shift = oracle.statistic * (1 + 0.1 / (np.mean([*first_mean.values()]) - np.mean([*second_mean.values()])))
    assert first["probability"] == pytest.approx(stats.t.sf(shift, oracle.df))
    assert first["pointwise"] == ("as stated here" if first["high"] < -0.1 else "open here")
    assert (second["verdict"], second["probability"], second["afterwards"]) == ("open here", None, None)
    assert {row["by"] for row in stated} == {"paper"}
    verdicts_by_claim = {str(row["claim"]): row["verdict"] for row in stated}
    assert verdicts_by_claim["held_out_loss(span_dynamic) < held_out_loss(dynamic)"] == "as stated here"
    assert verdicts_by_claim["held_out_loss(bottleneck) < held_out_loss(depthwise)"] == "as stated here"
    assert verdicts_by_claim["score(dynamic) ~ score(bottleneck) within 5"] == "as stated here"
    assert verdicts_by_claim["held_out_loss(dynamic) ~ held_out_loss(bottleneck)"] == "not testable at this size"
    assert len(stated) == 6


def test_arms_at_different_looks_are_judged_by_the_interval_beside_the_verdict() -> None:
    random = np.random.default_rng(0)
    noise = {arm: random.normal(0, 0.05, seeds).tolist() for arm, seeds in (("baseline", 7), ("a", 7), ("b", 3))}
    until_decided = {"start": 3, "max": 7, "step": 2, "margin": {"held_out_loss": 0.001}}
    pretraining = {"tokens": TOKENS, "seeds": {"until_decided": until_decided}}
    resolved = document(claims=["held_out_loss(a) < held_out_loss(b)"], pretraining=pretraining)
    outcomes = set()
    for shift in np.linspace(0, 0.5, 17).tolist():
        trials = [
            Trial(arm, seed).pretrained(6.0 + value + shift * (arm == "b"))
            for arm, values in noise.items()
            for seed, value in enumerate(values, 1)
        ]
        (row,) = rows(snapshot(trials, {arm: {} for arm in noise}, resolved=resolved))
        outcomes.add(row["verdict"])
        assert row["verdict"] == row["pointwise"]
    assert outcomes == {"open here", "as stated here"}


def claims_note_of(claims: list[str], **paper: object) -> str:
    arms: dict[str, dict[str, int]] = {"baseline": {}, "a ~ b": {"width": 512}}
    trials = [
        Trial(arm, seed).pretrained(6.0 - place + seed**2 / 50)
        for place, arm in enumerate(arms)
        for seed in (1, 2, 3)
    ]
    resolved = document(claims=claims, **paper)
    return grid_of(build(snapshot(trials, arms, resolved=resolved)), "claims").notes[0]


def test_the_note_on_claims_counts_a_repeated_claim_once() -> None:
    text = 'held_out_loss("a ~ b") < held_out_loss(baseline)'
    paper = {"source": "a paper", "statement": "better", "orderings": ['"a ~ b" > baseline']}
    assert "over the 1 claim, those" in claims_note_of([text], paper=paper)
    assert "over the 2 claims, those" in claims_note_of([text, f"{text} by 0.5"], paper=paper)


def test_the_papers_orderings_are_tested_on_the_metrics_that_it_names() -> None:
    """A single task takes the place of the score, and the family is as large as the tests that are left."""

    def ordered(tasks: tuple[str, ...], *metrics: str) -> set[str]:
        view = table2(tasks)
        paper = {**view.document["paper"], "metrics": [*metrics]}
        return {str(row["metric"]) for row in rows(replace(view, document={**view.document, "paper": paper}))}

    tasks = ("docs_pair", "docs_answer")
    assert ordered(tasks) == {"held_out_loss", "score"}
    assert ordered(tasks, "score") == {"score"}
    assert ordered(("docs_pair",), "score", "docs_pair") == {"docs_pair"}
    assert ordered(tasks, "docs_pair", "held_out_loss") == {"docs_pair", "held_out_loss"}


def test_the_margin_of_the_score_is_that_of_a_single_task() -> None:
    view = table2(("docs_pair",))
    levels = {str(row["claim"]) for row in rows(view) if "~" in str(row["claim"])}
    assert "docs_pair(dynamic) ~ docs_pair(bottleneck) within 5" in levels


def test_a_claim_on_the_score_is_one_on_a_single_task() -> None:
    view = table2(("docs_pair",))
    claimed_score = replace(view, document={**view.document, "claims": ["score(span_dynamic) > score(dynamic)"]})
    stated, *ordered = rows(claimed_score)
    assert (stated["claim"], stated["by"]) == ("docs_pair(span_dynamic) > docs_pair(dynamic)", "experiment")
    (same,) = (row for row in ordered if row["claim"] == stated["claim"])  # the paper's ordering: one test, not two
    assert [stated[name] for name in ("p_supported", "delta")] == [same[name] for name in ("p_supported", "delta")]
    assert [row["p_supported"] for row in ordered] == [row["p_supported"] for row in rows(view)]


def test_equivalence_without_a_margin_has_no_power_and_is_not_tested() -> None:
    """No difference can be shown to lie within nothing."""
    tested = claimed(claim_of("score", "a", Sign.LEVEL, "b", 0.0), [0.1, -0.2, 0.1])
    assert (tested.pointwise, tested.probability, tested.power) == (ClaimOutcome.NOT_TESTED, None, None)
    assert tested.test.outside is None
    assert tested.reason == "without a margin it cannot be supported"


@pytest.mark.parametrize("of_examples", [0.0, 0.01, 0.05, 0.2])
def test_more_seeds_do_not_lower_what_examples_add_to_the_variance(of_examples: float) -> None:
    pilot = dict(enumerate((-1.0, 0.0, 1.0)))
    over_seeds = estimate({seed: value - 1.0 for seed, value in pilot.items()}, pilot)
    error = np.sqrt(over_seeds.standard_error**2 + of_examples)
    found = replace(over_seeds, standard_error=error)
    by_seeds = PowerBySeeds(parse_claim("m(a) < m(b)"), found, len(pilot), 0.05, over_seeds)
    seeds = by_seeds.seeds_needed

    def power(number: int) -> float:
        of_seeds = 2.0 / number
        degrees = 2 * (number - 1) * ((of_seeds + of_examples) / of_seeds) ** 2
        shift = 1.0 / (of_seeds + of_examples) ** 0.5
        bar = stats.t.ppf(0.975, degrees)
        return float(stats.nct.sf(bar, degrees, shift) + stats.nct.cdf(-bar, degrees, shift))

    if seeds is None:
        assert power(100) < 0.8
    else:
        assert power(seeds) >= 0.8 - 1e-6
        assert power(seeds - 1) < 0.8
    assert by_seeds.limited_by_examples == (
        stats.norm.sf(stats.norm.isf(0.025) - 1.0 / max(of_examples, 1e-9) ** 0.5) < 0.8
    )


def test_a_claim_without_spread_has_no_number_of_seeds() -> None:
    equal = {1: 1.0, 2: 1.0}
    by_seeds = PowerBySeeds(parse_claim("m(a) < m(b)"), estimate(equal, equal), 2, 0.05)
    assert (by_seeds.seeds_needed, by_seeds.limited_by_examples) == (None, False)


def test_a_claim_on_a_score_of_which_every_task_is_below_a_reference_is_not_tested() -> None:
    tasks = ("docs_pair", "docs_acceptability")
    trials = [
        Trial(arm, seed).pretrained(6.0).tuned(tasks[0], 1, accuracy=40.0 + seed).tuned(tasks[1], 1, matthews=seed)
        for arm in ("baseline", "wide")
        for seed in (1, 2, 3)
    ]
    resolved = document(tasks, claims=["score(wide) > score(baseline)"])
    report = build(snapshot(trials, {"baseline": {}, "wide": {"width": 512}}, tasks, (1,), resolved), primary)
    (row,) = rows_of(report, "claims")
    assert row["verdict"] == "not testable at this size"
    assert row["reason"] == "on score the arms do not exceed every reference"

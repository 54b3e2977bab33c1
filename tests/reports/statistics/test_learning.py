"""Seeds on their plateau have no part in means; a claim on an arm that has not begun to learn is not tested."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from reports.report import build
from reports.statistics.claims import ClaimOutcome, judged_claims
from reports.statistics.learning import Learning, learning_of, share_of_a_family
from reports.statistics.reading import results_of
from reports.statistics.results import Results
from search_space.candidate import Candidate
from search_space.objective.masked_language_model import MaskedLanguageModel
from search_space.objective.replaced_tokens import ReplacedTokenDetection
from tests.factories.read_reports import rows_of
from tests.factories.reports import TOKENS, Trial, document, primary, snapshot
from tests.factories.stage_results import PLAUSIBLE

ATTENTION = PLAUSIBLE["attention"]


def results(stays: set[int], monkeypatch: pytest.MonkeyPatch) -> Results:
    """Return three seeds of two arms; the other arm's seeds of `stays` end at 9 nats, on their plateau."""
    trials = [
        Trial(arm, seed).pretrained(9.0 if arm == "other" and seed in stays else 5.0 + 0.01 * seed)
        for arm in ("baseline", "other")
        for seed in (1, 2, 3)
    ]
    exits = {seed: None if seed in stays else 1e5 * seed for seed in (1, 2, 3)}
    monkeypatch.setattr("reports.statistics.reading.learning_of", lambda _: {"other": Learning(exits, 9.0)})
    resolved = document(claims=["held_out_loss(other) > held_out_loss(baseline)"])
    arms = {"baseline": {}, "other": {"width": 512}}
    return results_of(snapshot(trials, arms, resolved=resolved), primary)


@pytest.mark.parametrize(("stays", "left"), [(set(), 3), ({3}, 2), ({1, 2}, 1), ({1, 2, 3}, 0)])
def test_means_are_of_the_seeds_that_left(stays: set[int], left: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every value is kept, those of learners are compared, and fewer than two of them are not."""
    found = results(stays, monkeypatch)
    assert len(found.values["other"].get("held_out_loss", {})) == found.learning["other"].left == left
    assert len(found.measured_values["other"]["held_out_loss"]) == 3
    (claim,) = judged_claims(found)
    assert (claim.outcome is ClaimOutcome.NOT_TESTED) == (left < 2)


def curve(exit_at: int | None) -> list[list[float]]:
    """Return 40 points on a plateau at 5 nats; from the exit on, a power law down from it."""
    at = np.arange(1, 41) * TOKENS // 40
    fallen = 0.0 if exit_at is None else 1 - np.maximum(at / exit_at, 1.0) ** -1.2
    losses = 5 + np.random.default_rng(0).normal(0, 0.01, 40) - fallen
    return [[int(tokens), float(loss)] for tokens, loss in zip(at, losses, strict=True)]


@pytest.mark.parametrize(
    ("objective", "second_stays", "left"),
    [(ReplacedTokenDetection(), True, 1), (ReplacedTokenDetection(), False, 2), (MaskedLanguageModel(), True, 2)],
)
def test_beside_a_generator_a_discriminator_that_stays_has_not_left(
    objective: MaskedLanguageModel | ReplacedTokenDetection, second_stays: bool, left: int
) -> None:
    """The training losses of both seeds fall; without a generator they decide."""
    ends = {1: TOKENS // 2, 2: None if second_stays else TOKENS // 2}
    trials = [
        Trial("baseline", seed).record(
            "pretrain",
            f"pretrain@{TOKENS}",
            {"tokens": TOKENS, "held_out_loss": 4.0, "held_out_curve": curve(end), "train_curve": curve(TOKENS // 4)},
        )
        for seed, end in ends.items()
    ]
    told = snapshot(trials, {"baseline": {}})
    arms = (replace(told.arms[0], candidate=Candidate(objective=objective)),)
    found = learning_of(replace(told, arms=arms))["baseline"]
    assert (found.left, found.curve) == (left, "held_out_curve" if left == 1 else "train_curve")


@pytest.mark.parametrize(
    ("seeds", "left", "share"), [(3, 0, 1.0), (5, 4, 1.0), (5, 2, 1.0), (5, 1, 0.5), (5, 0, 0.5), (8, 3, 0.5)]
)
def test_the_level_is_halved_where_the_number_of_learners_can_differ(seeds: int, left: int, share: float) -> None:
    """Against a baseline of which every seed left."""
    exits = {seed: 1e5 if seed < left else None for seed in range(seeds)}
    learning = {"baseline": Learning(dict.fromkeys(range(seeds), 1e5), 6.0), "other": Learning(exits, 6.0)}
    assert share_of_a_family(learning) == share


def test_seeds_that_stay_were_measured_equal_nothing_and_are_in_no_table_of_means(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    arms: dict[str, dict[str, int]] = {"baseline": {}, "other": {"width": 512}, "third": {"width": 64}}
    trials = [
        Trial(arm, seed).pretrained(9.0 - place / 10 + seed / 50).record("attention", "attention", ATTENTION)
        for place, arm in enumerate(arms)
        for seed in (1, 2, 3)
    ]
    exits = {"baseline": (None,) * 3, "other": (None,) * 3, "third": (None, 1e5, 2e5)}
    learning = {arm: Learning(dict(enumerate(of_arm, 1)), 9.0) for arm, of_arm in exits.items()}
    monkeypatch.setattr("reports.statistics.reading.learning_of", lambda _: learning)
    report = build(snapshot(trials, arms))
    assert "no arm can be compared: no measured seed of the baseline left the plateau of the loss" in report.finding
    assert "equal values" not in report.finding
    assert "or by no seed that left the plateau of the loss." in "".join(report.notes)
    assert {(row["arm"], row["n"]) for row in rows_of(report, "attention_diagonal")} == {("third", 2)}


def test_where_no_seed_learns_one_sentence_says_it_and_why_a_claim_is_not_testable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    arms = {"baseline": {}, "width=512": {"width": 512}, "width=64": {"width": 64}}
    trials = [Trial(arm, seed).pretrained(9.0 + seed / 50) for arm in arms for seed in (1, 2, 3)]
    learning = {arm: Learning({1: None, 2: None, 3: None}, 9.0) for arm in arms}
    monkeypatch.setattr("reports.statistics.reading.learning_of", lambda _: learning)
    resolved = document(claims=["held_out_loss(width=512) < held_out_loss(baseline)"])
    report = build(snapshot(trials, arms, resolved=resolved))
    assert report.finding.startswith(
        "No seed of any arm left the plateau of the loss, near that of a model without context"
    )
    assert "of 3 seeds of" not in report.finding
    assert "not testable at this size (seeds that left the plateau: width=512 0 of 3, baseline" in report.finding


@pytest.mark.parametrize(
    ("left", "verdict"),
    [((5, 0), "as stated here"), ((0, 5), "opposite here"), ((4, 1), "not testable at this size")],
)
def test_a_claim_on_an_arm_that_has_not_begun_to_learn_is_tested_on_how_many_seeds_have(
    left: tuple[int, int], verdict: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    learning = {
        arm: Learning({seed: 1e5 if seed <= count else None for seed in range(1, 6)}, 9.0)
        for arm, count in zip(("other", "baseline"), left, strict=True)
    }
    monkeypatch.setattr("reports.statistics.reading.learning_of", lambda _: learning)
    trials = [
        Trial(arm, seed).pretrained(8.0 + seed / 50 if each.exits[seed] else 9.0 + seed / 50)
        for arm, each in learning.items()
        for seed in each.exits
    ]
    claims = ["held_out_loss(other) < held_out_loss(baseline)", "held_out_loss(other) < held_out_loss(baseline) by 1"]
    report = build(snapshot(trials, {"baseline": {}, "other": {"width": 512}}, resolved=document(claims=claims)))
    tested, sized = rows_of(report, "claims")
    assert tested["verdict"] == verdict
    assert str(tested["reason"]).endswith(f"by Fisher's test: {left[0]} of 5 against {left[1]} of 5")
    table = [[left[0], 5 - left[0]], [left[1], 5 - left[1]]]
    oracle = [float(stats.fisher_exact(table, alternative=tail).pvalue) for tail in ("greater", "less")]
    holm_sides_and_share = 2 * 2 * 2
    assert tested["p_supported"] == pytest.approx(min(1.0, holm_sides_and_share * oracle[0]))
    assert tested["p_contradicted"] == pytest.approx(min(1.0, holm_sides_and_share * oracle[1]))
    assert sized["verdict"] == "not testable at this size"


def test_seeds_without_a_curve_are_compared_beside_one_that_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as those of an earlier version: that they learned is told by their values."""
    learning = {"other": Learning({3: None}, 9.0)}
    monkeypatch.setattr("reports.statistics.reading.learning_of", lambda _: learning)
    trials = [
        Trial(arm, seed).pretrained(9.0 - place + seed / 50)
        for place, arm in enumerate(("baseline", "other"))
        for seed in (1, 2, 3)
    ]
    resolved = document(claims=["held_out_loss(other) < held_out_loss(baseline)"])
    report = build(snapshot(trials, {"baseline": {}, "other": {"width": 512}}, resolved=resolved))
    assert "other has the best mean and is significantly better" in report.finding
    assert rows_of(report, "claims")[0]["verdict"] == "as stated here"

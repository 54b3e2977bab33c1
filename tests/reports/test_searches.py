"""Searches: the finding, claims by search seed at equal cost, and comparisons side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from reports.claim_row import ClaimRow
from reports.paper_claims_file import SearchTest
from reports.report import build
from reports.search_comparison import finding
from reports.searched_claims import searched_claims
from reports.statistics.search_comparison import ComparedSearch, SearchComparison
from steeplechase.analysis.search_trace import SearchTrace, Training
from steeplechase.configuration.arm import changes_text
from steeplechase.foundation.errors import ConfigurationError, MachineError
from steeplechase.ledger.snapshot import Snapshot
from tests.factories.read_reports import grid_of, rows_of
from tests.factories.reports import Trial, document, search_design, snapshot
from tests.reports.sections.test_candidates import ARMS, RUNGS, searched


def stopped_or_diverged(ends: Mapping[str, float | None], finished: float | None = None) -> Snapshot:
    """Return candidates stopped at the first rung with these losses, or diverged; the baseline finished."""
    trials = [Trial("baseline", 1).pretrained(7.0, RUNGS[0]).pretrained(6.0)]
    for arm, loss in ends.items():
        trial = Trial(arm, 1)
        trials.append(
            trial.diverged() if loss is None else trial.pretrained(loss, RUNGS[0]).judged(0, False, loss, None)
        )
    if finished is not None:
        trials.append(Trial("c003", 1).pretrained(7.1, RUNGS[0]).pretrained(finished))
    return replace(searched({}, seeds=(1,)), histories=tuple(trial.history() for trial in trials))


def test_the_baseline_that_no_hurdle_stops_is_never_called_best() -> None:
    finding = build(stopped_or_diverged({"c001": 6.8, "c002": 6.9, "c003": 7.2})).finding
    assert finding == "Of 3 candidates none finished (3 stopped at hurdles)."
    finding = build(stopped_or_diverged({"c001": 6.8, "c002": 7.2}, finished=6.5)).finding
    assert "the only one to finish is c003 (heads 2) at 2M tokens" in finding
    assert "the best is" not in finding


def test_a_search_whose_candidates_all_diverge_has_only_the_baselines_result() -> None:
    report = build(stopped_or_diverged({"c001": None, "c002": None, "c003": None}))
    assert report.finding == "Of 3 candidates none finished (3 diverged); the baseline alone has a result."
    assert not any("was selected" in note for grid in report.grids for note in grid.notes)


def two_objectives(objectives: list[str], scores: Mapping[str, float]) -> Snapshot:
    """Return a search whose finished candidates have these scores, and losses in the opposite order."""
    trials = [
        Trial(arm, 1).pretrained(7.0, RUNGS[0]).pretrained(6.0 + score / 100).tuned("docs_pair", 1, accuracy=score)
        for arm, score in scores.items()
    ]
    tuning = {"tasks": ["docs_pair"], "seeds": [1]}
    resolved = document(["docs_pair"], seeds=(1,), design=search_design(objectives=objectives), fine_tuning=tuning)
    return snapshot(trials, ARMS, ("docs_pair",), (1,), resolved, RUNGS, "search")


SCORES = {"baseline": 60.0, "c001": 70.0, "c002": 65.0, "c003": 62.0}


def test_candidates_are_ranked_by_the_declared_objective() -> None:
    report = build(two_objectives(["score"], SCORES))
    assert [(row["arm"], row["rank"], row["score"]) for row in rows_of(report, "candidates")] == [
        *(("baseline", None, 60.0), ("c001", 1, 70.0), ("c002", 2, 65.0), ("c003", 3, 62.0)),
    ]
    assert "the best of them is c001" in report.finding
    assert "difference from the baseline in score, the declared objective, has no interval (Δ +10" in report.finding
    notes = grid_of(report, "candidates").every_note
    assert any("selected by the score shown here" in note for note in notes)


def test_the_pareto_front_is_named_and_ranked_first() -> None:
    report = build(two_objectives(["score", "parameters"], {**SCORES, "c003": 66.0}))
    assert [(row["arm"], row["rank"], row["front"]) for row in rows_of(report, "candidates")] == [
        *(("baseline", None, False), ("c001", 1, True), ("c003", 2, True), ("c002", 3, False)),
    ]
    assert "On the Pareto front of score and parameters: c001 (13.2M), c003 (12.6M)" in report.finding


def test_a_large_number_of_a_change_has_a_short_notation() -> None:
    changes = {
        "recipe.peak_learning_rate": 1e10,
        "dropout": 0.1,
        "convolution": {"kind": "dynamic", "kernel_size": 9},
    }
    expected = "recipe.peak_learning_rate 1e10, dropout 0.1, convolution dynamic (kernel_size 9)"
    assert changes_text(changes) == expected
    assert [changes_text({"rate": rate}) for rate in (0.003, 3e-5, 12345678.5)] == [
        *("rate 0.003", "rate 3e-05", "rate 12345678.5"),
    ]


def test_a_record_with_every_default_says_that_the_space_is_exhausted() -> None:
    """A ledger's document has all fields of the design, also those that a file may not name together."""
    view = stopped_or_diverged({"c001": None, "c002": None, "c003": None})
    resolved = {**view.document, "design": {"kind": "search", "space": {"heads": [1, 2, 4, 8]}, "max_candidates": 6}}
    recorded = {**resolved, "design": {**resolved["design"], "at_once": 1, "trainings": None, "policy": None}}
    assert build(replace(view, document=recorded)).finding == (
        "Of 3 candidates none finished (3 diverged); the baseline alone has a result. "
        "The space has 3 points beside the baseline: 3 of 5 candidates."
    )


@pytest.mark.parametrize("objectives", [["held_out_loss"], ["held_out_loss", "parameters"]])
@pytest.mark.parametrize("lost", [(1,), (2,), (1, 2)])
def test_a_candidate_of_which_a_seed_diverged_is_never_the_best(lost: tuple[int, ...], objectives: list[str]) -> None:
    losses = {"baseline": 6.0, "c001": 2.0, "c002": 6.1, "c003": 6.2}
    trials = [
        Trial(arm, seed).diverged()
        if arm == "c001" and seed in lost
        else Trial(arm, seed).pretrained(loss + seed / 50)
        for arm, loss in losses.items()
        for seed in (1, 2)
    ]
    resolved = document(seeds=(1, 2), design=search_design(objectives=objectives))
    report = build(snapshot(trials, ARMS, resolved=resolved, experiment="search"))
    assert report.finding.startswith("Of 3 candidates 2 finished (1 diverged); the best of them is c002")
    (found,) = (each for each in report.tables if each.name == "candidates")
    assert [(row["arm"], row["rank"]) for row in found.rows] == [
        *(("baseline", None), ("c002", 1), ("c003", 2), ("c001", None)),
    ]
    for each in report.tables:
        assert each.name != "pareto" or "c001" not in {row["arm"] for row in each.rows}


def test_a_baseline_that_diverged_in_a_search_is_named() -> None:
    trials = [Trial("baseline", 1).diverged(), *(Trial(arm, 1).pretrained(6.1) for arm in ("c001", "c002", "c003"))]
    report = build(replace(searched({}, seeds=(1,)), histories=tuple(trial.history() for trial in trials)))
    assert "In the search the baseline diverged in 1 of 1 seed." in report.finding


LOWER, HIGHER, LIKE = (
    "chosen_final(a) < chosen_final(b)",
    "chosen_final(b) < chosen_final(a)",
    "best_seen(a) < best_seen(b)",
)


def written(folder: Path, by_search: dict[str, Sequence[float]]) -> None:
    rows = [
        f"{search},{seed},{5.0 + seed % 3},{value},20"
        for search, values in by_search.items()
        for seed, value in enumerate(values)
    ]
    (folder / "tables").mkdir(parents=True)
    (folder / "tables" / "by_seed.csv").write_text(
        "\n".join(["search,seed,best_seen,chosen_final,cost", *rows]) + "\n"
    )


def judge(root: Path, *claims: str) -> list[ClaimRow]:
    tested = SearchTest(folder="space/hurdles", scale="laptop", scope="two models", claims=claims)
    return [*searched_claims([tested], root)]


def test_a_search_that_is_lower_at_every_seed_supports_and_contradicts(tmp_path: Path) -> None:
    noise = np.random.default_rng(1).normal(0, 1, (2, 10))
    first, second = 4 + noise[0], 4.5 + noise[0] + 0.1 * noise[1]
    written(tmp_path / "space/hurdles", {"a": first, "b": second})
    below, above = judge(tmp_path, LOWER, HIGHER)
    assert (below.verdict, above.verdict) == ("as stated here", "opposite here")
    assert (below.experiment, below.metric, below.test, below.n) == (
        "space/hurdles laptop",
        "chosen_final",
        "`a < b`",
        10,
    )
    expected = stats.ttest_rel(first, second).confidence_interval(0.95)
    mean = float(np.mean(first - second))
    assert below.difference == f"{mean:+.3f} [{expected.low:+.3f}, {expected.high:+.3f}]".replace("-", "−")


def test_claims_of_several_comparisons_are_corrected_for_each_other(tmp_path: Path) -> None:
    """A p of 0.03 decides a claim alone, and none of four that are alike."""
    differences = np.random.default_rng(2).normal(0, 1, 12)
    differences = (differences - differences.mean()) / differences.std(ddof=1)
    shift = stats.t.ppf(0.015, 11) / 12**0.5  # two-sided p of 0.03
    searches = {name: np.zeros(12) for name in "bcde"} | {"a": differences + shift}
    written(tmp_path / "space/hurdles", searches)
    (alone,) = judge(tmp_path, LOWER)
    together = judge(tmp_path, *(f"chosen_final(a) < chosen_final({name})" for name in "bcde"))
    assert alone.verdict == "as stated here"
    assert {each.verdict for each in together} == {"open here"}
    assert all("seeds would" in each.caveats[0] for each in together)


def test_equal_searches_have_no_verdict(tmp_path: Path) -> None:
    written(tmp_path / "space/hurdles", {"a": [4.0, 4.1, 4.2], "b": [4.0, 4.1, 4.2]})
    (found,) = judge(tmp_path, LIKE)
    assert (found.verdict, found.detectable) == ("open here", "–")


def test_an_unknown_search_and_a_missing_comparison_are_refused_in_a_line(tmp_path: Path) -> None:
    with pytest.raises(
        MachineError, match=r"by_seed\.csv: no such file; `steeplechase search compare --out` writes it"
    ):
        judge(tmp_path, LOWER)
    written(tmp_path / "space/hurdles", {"a": [4.0, 4.1], "c": [4.0, 4.1]})
    with pytest.raises(ConfigurationError, match="no search b with chosen_final; it has a, c"):
        judge(tmp_path, LOWER)


def searches(first: list[float], second: list[float]) -> SearchComparison:
    """Return two searches by the final losses of what they chose, at the seeds 0, 1, 2, …"""
    return SearchComparison(
        tuple(
            ComparedSearch(
                name,
                tuple(
                    SearchTrace(seed, (Training(f"c{seed}", 1.0, loss, True, 1e6),), loss, 0)
                    for seed, loss in enumerate(losses)
                ),
                "a table",
            )
            for name, losses in (("one", first), ("two", second))
        )
    )


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ([4.0], [4.1], "without an interval, at one search seed (Δ +0.100 [?], n = 1)"),
        ([4.0, 4.2, 4.1], [4.0, 4.2, 4.1], "since it does not vary over search seeds (Δ 0.00 [?], n = 3)"),
        ([4.0, 4.2, 4.1], [4.5, 4.7, 4.6], "since it does not vary over search seeds (Δ +0.50 [?], n = 3)"),
        ([4.0, 4.2, 4.1], [3.0, 3.3, 3.2], "final loss of the chosen candidate lower (Δ −0.93 ["),
        ([4.0, 4.2, 4.1], [4.1, 4.1, 4.3], "final loss of the chosen candidate not significantly different ("),
    ],
)
def test_the_finding_says_why_there_is_no_interval(first: list[float], second: list[float], words: str) -> None:
    assert words in finding(searches(first, second))

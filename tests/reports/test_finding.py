"""The finding and the paper's orderings: computed sentences and verdicts, null results included."""

import pytest
from building import Trial, document, empty, full_trial, search, snapshot, table2, troubled
from hypothesis import given
from hypothesis import strategies as st

from reports.effects import Difference
from reports.metrics import Metric
from reports.orderings import Ordering, Relation, Verdict, parse_orderings, verdict_of
from reports.report import build
from search_space.refusals import ConfigurationRefused

LOSS, SCORE = Metric("held_out_loss"), Metric("score")
BETTER, SAME = Ordering("a", Relation.BETTER, "b"), Ordering("a", Relation.ABOUT_EQUAL, "b")


def two_arms(differences: dict[int, float], seeds: tuple[int, ...] = (1, 2, 3)) -> str:
    trials = [Trial("baseline", seed).pretrained(6.0) for seed in seeds]
    trials += [Trial("wide", seed).pretrained(6.0 + differences[seed]) for seed in seeds]
    view = snapshot(trials, arms={"baseline": {}, "wide": {"width": 512}}, resolved=document(seeds=seeds))
    return build(view).finding


def test_a_better_arm_is_named_with_its_interval_and_n() -> None:
    expected = "On held-out loss wide is best and better than the baseline (Δ −0.200 [−0.225, −0.175], n = 3)."
    assert two_arms({1: -0.21, 2: -0.19, 3: -0.2}) == expected


def test_a_null_result_says_so() -> None:
    assert "wide, cannot be told from the baseline" in two_arms({1: -0.3, 2: 0.2, 3: -0.1})


def test_a_worse_arm_does_not_become_best_for_being_alone() -> None:
    assert "no arm reaches the baseline (nearest: wide" in two_arms({1: 0.21, 2: 0.19, 3: 0.2})


def test_one_seed_tells_nothing_apart() -> None:
    assert "no difference can be told from one seed" in two_arms({1: -3.0}, seeds=(1,))


def test_nothing_measured_is_said() -> None:
    assert build(empty()).finding.startswith("No result yet: 0 of 0 trials have ended")
    assert build(snapshot([Trial("baseline", 1).diverged()])).finding.startswith("No result yet: 1 of 15")


def test_isolated_effect_of_convolution_is_told() -> None:
    clause = "the effect of convolution alone, span_dynamic against bottleneck: held-out loss better (−0.202 ["
    assert clause in build(table2()).finding


def test_a_running_experiment_says_how_far_it_is() -> None:
    assert build(troubled()).finding.startswith("So far, with 13 of 15 trials ended: on held-out loss")


def test_a_finding_is_one_sentence() -> None:
    for view in (table2(), troubled(), search(), empty()):
        finding = build(view).finding
        assert finding.endswith(".")
        assert ". " not in finding


def test_a_search_compares_where_both_have_been() -> None:
    assert build(search()).finding == (
        "Of 4 candidates 1 came through; the best is c001 (convolution span_dynamic (kernel_size 5)) at 2M tokens, "
        "which cannot be told from the baseline by held-out loss at 500k tokens, the furthest that both reached "
        "(Δ −0.200 [?], n = 1)."
    )


def test_one_task_speaks_in_place_of_a_score() -> None:
    trials = [full_trial("baseline", seed, ("docs_pair",)) for seed in (1, 2, 3)]
    assert "on docs_pair only the baseline" in build(snapshot(trials, tasks=("docs_pair",))).finding


@pytest.mark.parametrize(
    ("ordering", "metric", "margin", "difference", "verdict"),
    [
        (BETTER, LOSS, None, Difference(3, -0.2, -0.3, -0.1), Verdict.HELD),
        (BETTER, SCORE, None, Difference(3, -0.2, -0.3, -0.1), Verdict.NOT_HELD),
        (BETTER, SCORE, None, Difference(3, 0.2, 0.1, 0.3), Verdict.HELD),
        (BETTER, LOSS, None, Difference(3, -0.2, -0.5, 0.1), Verdict.UNDECIDED),
        (BETTER, LOSS, None, Difference(1, -0.2), Verdict.UNDECIDED),
        (SAME, LOSS, None, Difference(3, 0.0, -0.1, 0.1), Verdict.UNDECIDED),
        (SAME, LOSS, None, Difference(3, 0.2, 0.1, 0.3), Verdict.NOT_HELD),
        (SAME, LOSS, 0.2, Difference(3, 0.0, -0.1, 0.1), Verdict.HELD),
        (SAME, LOSS, 0.2, Difference(3, 0.2, 0.1, 0.3), Verdict.UNDECIDED),
        (SAME, LOSS, 0.05, Difference(3, 0.2, 0.1, 0.3), Verdict.NOT_HELD),
        (SAME, LOSS, 0.2, Difference(), Verdict.UNDECIDED),
    ],
)
def test_verdicts(
    ordering: Ordering, metric: Metric, margin: float | None, difference: Difference, verdict: Verdict
) -> None:
    assert verdict_of(ordering, difference, metric, margin) is verdict


NAMES = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._=-]{0,8}", fullmatch=True)


@given(NAMES, st.lists(st.tuples(st.sampled_from(list(Relation)), NAMES), min_size=1, max_size=5))
def test_a_chain_is_its_neighbours(first: str, rest: list[tuple[Relation, str]]) -> None:
    text = " ".join([first, *(f"{relation} {name}" for relation, name in rest)])
    found = parse_orderings([text])
    assert [(found[0].first), *(ordering.second for ordering in found)] == [first, *(name for _, name in rest)]
    assert [ordering.relation for ordering in found] == [relation for relation, _ in rest]


def test_unreadable_orderings_are_all_refused_at_once() -> None:
    with pytest.raises(ConfigurationRefused) as refusal:
        parse_orderings(["a > b", "a", "a < b", "a >", ""])
    assert len(refusal.value.lines) == 4


def test_an_ordering_of_an_arm_that_is_not_there_is_undecided() -> None:
    paper = {"source": "s", "statement": "t", "orderings": ["baseline > nobody"]}
    (found,) = (
        table for table in build(snapshot([], resolved=document(paper=paper))).tables if table.name == "orderings"
    )
    assert [row["verdict"] for row in found.rows] == ["undecided"]

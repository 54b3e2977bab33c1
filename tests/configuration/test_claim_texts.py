"""The text of a claim: what it says, its quoting, and what is no claim."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steeplechase.configuration.claims import (
    Ordering,
    Sign,
    UnclearClaim,
    claim_of,
    parse_claim,
    parse_orderings,
    unknown_arms,
)

NAMES = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._=-]{0,8}", fullmatch=True)
SIZES = st.integers(1, 400).map(lambda value: value / 8)


@given(NAMES, NAMES, NAMES, st.sampled_from(list(Sign)), SIZES)
def test_a_claim_reads_as_it_is_written(metric: str, first: str, second: str, sign: Sign, size: float) -> None:
    if first == second:
        return
    word = "within" if sign is Sign.LEVEL else "by"
    text = f"{metric}({first}) {sign} {metric}({second}) {word} {size}"
    assert parse_claim(text) == claim_of(metric, first, sign, second, size)


ANY_NAME = st.text(st.sampled_from("ab1 >~<()'\"\\=,"), min_size=1, max_size=9).filter(
    lambda name: name == name.strip()
)


@given(ANY_NAME, ANY_NAME, st.sampled_from(list(Sign)))
def test_a_name_may_hold_anything_and_is_quoted_where_it_must_be(first: str, second: str, sign: Sign) -> None:
    if first != second:
        claim = claim_of("score", first, sign, second, 0.5)
        assert parse_claim(str(claim)) == claim
        ordering = Ordering(first, sign is Sign.LEVEL, second)
        assert parse_orderings(str(ordering)) == (ordering,)


def test_a_matched_arm_needs_no_quotes_in_a_claim() -> None:
    assert parse_claim("score(a (matched)) > score(b c)").first == "a (matched)"


@given(NAMES, st.lists(st.tuples(st.sampled_from(">~"), NAMES), min_size=1, max_size=5))
def test_a_chain_is_its_pairs_of_neighbours(first: str, rest: list[tuple[str, str]]) -> None:
    names = [first, *(name for _, name in rest)]
    if any(a == b for a, b in pairwise(names)):
        return
    orderings = parse_orderings(" ".join([first, *(f"{sign} {name}" for sign, name in rest)]))
    assert [orderings[0].first, *(ordering.second for ordering in orderings)] == names
    assert [ordering.level for ordering in orderings] == [sign == "~" for sign, _ in rest]


@pytest.mark.parametrize(
    "text", ["a", "a < b", "a >", "", "a > > b", 'a "b > c', '"a > b', "a > a", '"a"b > c', "a b > c"]
)
def test_an_invalid_ordering_is_reported(text: str) -> None:
    with pytest.raises(UnclearClaim):
        parse_orderings(text)


def test_an_ordering_claims_the_better_direction_of_every_metric() -> None:
    better, level = parse_orderings("a > b ~ c")
    assert str(better.on("held_out_loss", True, None)) == "held_out_loss(a) < held_out_loss(b)"
    assert str(better.on("score", False, 2.0)) == "score(a) > score(b)"
    assert str(level.on("score", False, 2.0)) == "score(b) ~ score(c) within 2"
    assert str(level.on("score", False, None)) == "score(b) ~ score(c)"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a > b", "is not a claim"),
        ("score(a) > loss(b)", "both sides must be one metric"),
        ("score(a) ~ score(b)", "needs `within`"),
        ("score(a) > score(b) within 1", "takes `by`"),
        ("score(a) > score(b) by 0", "more than 0"),
        ("score(a) > score(a)", "with itself"),
        ("score(a) > score(b) by -1", "is not a claim"),
    ],
)
def test_an_invalid_claim_is_reported_with_the_reason(text: str, expected: str) -> None:
    with pytest.raises(UnclearClaim, match=expected):
        parse_claim(text)


def test_unknown_names_are_reported_with_the_nearest() -> None:
    (wrong,) = unknown_arms(("dynamc", "wide"), ["dynamic", "wide"])
    assert wrong == "'dynamc' is not an arm. Allowed: dynamic, wide. Did you mean 'dynamic'?"

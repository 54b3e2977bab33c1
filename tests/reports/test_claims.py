"""Claims: what is a claim, what the seeds say of it, with which probability and power."""

from dataclasses import replace

import numpy as np
import pytest
from building import Trial, document, snapshot, table2
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from reports.claims import Judgement, judge
from reports.effects import paired
from reports.report import build
from reports.table import Row
from runners.claims import Claim, Sign, UnclearClaim, parse_claim, unknown_names

NAMES = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._=-]{0,8}", fullmatch=True)
SIZES = st.integers(1, 400).map(lambda value: value / 8)


@given(NAMES, NAMES, NAMES, st.sampled_from(list(Sign)), SIZES)
def test_a_claim_reads_as_it_is_written(metric: str, first: str, second: str, sign: Sign, size: float) -> None:
    if first == second:
        return
    word = "within" if sign is Sign.LEVEL else "by"
    text = f"{metric}({first}) {sign} {metric}({second}) {word} {size}"
    assert parse_claim(text) == Claim(metric, first, sign, second, size)


@pytest.mark.parametrize(
    ("text", "told"),
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
def test_what_is_no_claim_is_told_why(text: str, told: str) -> None:
    with pytest.raises(UnclearClaim, match=told):
        parse_claim(text)


def test_names_that_are_not_there_are_told_with_the_nearest() -> None:
    wrong = unknown_names(parse_claim("scor(dynamc) > scor(wide)"), ["dynamic", "wide"], ["score"])
    assert ["Did you mean 'score'?" in wrong[0], "Did you mean 'dynamic'?" in wrong[1], len(wrong)] == [True, True, 2]


def judged(differences: list[float], text: str) -> tuple[Judgement, float | None]:
    values = dict(enumerate(differences))
    found = judge(parse_claim(text), differences, paired(values, dict.fromkeys(values, 0.0)))
    return found.judgement, found.probability


@pytest.mark.parametrize(
    ("differences", "text", "judgement"),
    [
        ([1.0, 1.1, 0.9], "score(a) > score(b)", Judgement.SUPPORTED),
        ([1.0, 1.1, 0.9], "score(a) > score(b) by 0.5", Judgement.SUPPORTED),
        ([1.0, 1.1, 0.9], "score(a) > score(b) by 1", Judgement.UNDECIDED),
        ([1.0, 1.1, 0.9], "score(a) > score(b) by 2", Judgement.CONTRADICTED),
        ([1.0, 1.1, 0.9], "score(a) < score(b)", Judgement.CONTRADICTED),
        ([1.0, 1.1, 0.9], "score(a) ~ score(b) within 2", Judgement.SUPPORTED),
        ([1.0, 1.1, 0.9], "score(a) ~ score(b) within 0.1", Judgement.CONTRADICTED),
        ([1.0, -1.0, 0.9], "score(a) > score(b)", Judgement.UNDECIDED),
        ([1.0], "score(a) > score(b)", Judgement.UNDECIDED),
        ([1.0, 1.0, 1.0], "score(a) > score(b)", Judgement.UNDECIDED),
    ],
)
def test_judgements(differences: list[float], text: str, judgement: Judgement) -> None:
    assert judged(differences, text)[0] is judgement


@given(st.lists(st.integers(-40, 40).map(lambda v: v / 8), min_size=2, max_size=8), SIZES)
def test_probabilities_are_those_of_students_t(differences: list[float], size: float) -> None:
    if len(set(differences)) == 1:
        return
    n = len(differences)
    posterior = stats.t(n - 1, np.mean(differences), np.std(differences, ddof=1) / n**0.5)
    above, level = posterior.sf(size), posterior.cdf(size) - posterior.cdf(-size)
    assert judged(differences, f"s(a) > s(b) by {size}")[1] == pytest.approx(above, abs=1e-9)
    assert judged(differences, f"s(a) ~ s(b) within {size}")[1] == pytest.approx(level, abs=1e-9)


def rows(view: object) -> list[Row]:
    (found,) = (table for table in build(view).tables if table.name == "claims")  # type: ignore[arg-type]
    return list(found.rows)


def test_a_report_judges_the_experiments_claims() -> None:
    claims = ["held_out_loss(span_dynamic) < held_out_loss(dynamic) by 0.1", "score(dynamic) > score(nobody)"]
    view = table2()
    first, second = rows(replace(view, document={**view.document, "claims": claims}))
    assert (first["claim"], first["verdict"], first["n"]) == (claims[0], "undecided", 3)
    assert first["probability"] == pytest.approx(0.972, abs=0.01)
    assert (second["verdict"], second["probability"], second["afterwards"]) == ("undecided", None, None)


def test_an_arm_whose_rivals_were_in_the_cache_was_added_afterwards() -> None:
    trials = [Trial("baseline", seed).pretrained(6.0 + seed / 50) for seed in (1, 2, 3)]
    late = [Trial("late", seed).pretrained(5.0 + seed**2 / 70) for seed in (1, 2, 3)]
    for trial in trials:
        trial.records = [replace(record, reused=True) for record in trial.records]
    resolved = document(claims=["held_out_loss(late) < held_out_loss(baseline)"])
    arms = {"baseline": {}, "late": {"width": 512}}
    (found,) = rows(snapshot([*trials, *late], arms, resolved=resolved))
    assert (found["verdict"], found["afterwards"]) == ("supported", "late")
    fresh = [Trial("baseline", seed).pretrained(6.0 + seed / 50) for seed in (1, 2, 3)]
    (found,) = rows(snapshot([*fresh, *late], arms, resolved=resolved))
    assert found["afterwards"] is None

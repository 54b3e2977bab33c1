"""An option that is not the paper's is named wherever an arm has it, and beside the paper's claims on such an arm."""

from dataclasses import replace
from typing import Any

import pytest

from reports.formats import render
from reports.report import Report, build
from search_space.candidate import Candidate
from search_space.overrides import apply
from search_space.released.papers import published
from tests.factories.reports import Trial, document, primary, snapshot

CHANGES: dict[str, dict[str, Any]] = {
    "baseline": {},
    "dynamic": {"bottleneck_ratio": 2, "convolution": {"kind": "dynamic"}},
    "span_dynamic": {"bottleneck_ratio": 2, "convolution": {"kind": "span_dynamic"}},
}
PAPER = {
    "source": "the paper",
    "statement": "words",
    "orderings": ["span_dynamic > dynamic", "span_dynamic > baseline"],
}
TERM = "Options that differ from the paper's"
DYNAMIC = published().option_departures["dynamic"]


def report(arms: tuple[str, ...], **more: Any) -> Report:
    trials = [Trial(name, seed).pretrained(3.0 + seed / 100 + len(name) / 50) for name in arms for seed in (1, 2, 3)]
    found = snapshot(trials, {name: CHANGES[name] for name in arms}, (), resolved=document((), **more))
    rows = (replace(arm, candidate=written(arm.name)) for arm in found.arms)
    return build(replace(found, arms=tuple(rows)), primary=primary)


def written(arm: str) -> Candidate:
    return apply(Candidate(), CHANGES[arm])


def rows(found: Report, name: str) -> list[dict[str, Any]]:
    return [dict(row) for table in found.tables if table.name == name for row in table.rows]


def test_without_a_published_table_it_is_a_condition() -> None:
    assert "GLU" in dict(report(tuple(CHANGES)).footer)[TERM]
    assert TERM not in dict(report(("baseline", "span_dynamic")).footer)


def test_with_one_it_is_among_what_differs_with_what_is_assumed() -> None:
    paper = {**PAPER, "table": "table2", "rows": {"baseline": "none", "dynamic": "dynamic"}}
    found = report(tuple(CHANGES), paper=paper)
    told = {row["where"]: row["what"] for row in rows(found, "departures")}
    assert told["convolution dynamic"] == DYNAMIC.what
    assert told["assumed"] == published().tables["table2"].assumptions[0]
    assert "bottleneck ratio 2" in told["assumed"]
    assert TERM not in dict(found.footer)


def test_it_stands_beside_the_papers_claims_on_that_arm_alone() -> None:
    found = report(tuple(CHANGES), paper=PAPER, claims=["held_out_loss(dynamic) < held_out_loss(baseline)"])
    told = {row["claim"]: row["departure"] for row in rows(found, "claims")}
    assert told == {
        "held_out_loss(dynamic) < held_out_loss(baseline)": None,  # the experiment's own
        "held_out_loss(span_dynamic) < held_out_loss(dynamic)": DYNAMIC.brief,
        "held_out_loss(span_dynamic) < held_out_loss(baseline)": None,
    }


@pytest.mark.parametrize("form", ["terminal", "markdown", "latex", "html"])
def test_people_read_it_beside_the_verdict(form: str) -> None:
    found = " ".join(render(report(tuple(CHANGES), paper=PAPER), form).split())
    assert "without the paper" in found

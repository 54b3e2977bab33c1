"""An option that differs from the paper's is reported for its arms and at the paper's claims on them."""

from dataclasses import replace
from typing import Any

from reports.report import Report, build
from search_space.candidate import Candidate
from search_space.convolution import Dynamic
from search_space.overrides import apply
from search_space.released.papers import published
from tests.factories.read_reports import rows_of
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
DYNAMIC = Dynamic()


def report(arms: tuple[str, ...], **more: Any) -> Report:
    trials = [Trial(name, seed).pretrained(3.0 + seed / 100 + len(name) / 50) for name in arms for seed in (1, 2, 3)]
    view = snapshot(trials, {name: CHANGES[name] for name in arms}, (), resolved=document((), **more))
    rows = (replace(arm, candidate=written(arm.name)) for arm in view.arms)
    return build(replace(view, arms=tuple(rows)), primary=primary)


def written(arm: str) -> Candidate:
    return apply(Candidate(), CHANGES[arm])


def test_without_a_published_table_it_is_a_condition() -> None:
    assert "GLU" in dict(report(tuple(CHANGES)).footer)[TERM]
    assert TERM not in dict(report(("baseline", "span_dynamic")).footer)


def test_with_a_table_of_the_paper_it_is_among_differences_and_assumptions() -> None:
    paper = {**PAPER, "table": "table2", "rows": {"baseline": "none", "dynamic": "dynamic"}}
    built = report(tuple(CHANGES), paper=paper)
    departures = {row["where"]: row["what"] for row in rows_of(built, "departures")}
    assert departures["convolution dynamic"] == DYNAMIC.departure
    assert departures["assumed"] == published().tables["table2"].assumptions[0]
    assert "bottleneck ratio 2" in departures["assumed"]
    assert TERM not in dict(built.footer)


def test_the_difference_is_at_claims_of_the_paper_on_that_arm_only() -> None:
    built = report(tuple(CHANGES), paper=PAPER, claims=["held_out_loss(dynamic) < held_out_loss(baseline)"])
    text = {row["claim"]: row["departure"] for row in rows_of(built, "claims")}
    assert text == {
        "held_out_loss(dynamic) < held_out_loss(baseline)": None,  # the experiment's own
        "held_out_loss(span_dynamic) < held_out_loss(dynamic)": DYNAMIC.brief_departure,
        "held_out_loss(span_dynamic) < held_out_loss(baseline)": None,
    }


def test_of_two_schedules_of_a_kind_the_updates_differ_and_a_field_without_a_value_has_a_word() -> None:
    baseline = {
        "architecture": {"layers": "s s f", "attention_biases": False},
        "recipe": {"schedule": {"kind": "linear", "warmup_tokens": 16384}},
    }
    resolved = document((), paper=PAPER, baseline=baseline)
    view = snapshot([Trial("baseline", 1).pretrained(3.0)], {"baseline": {}}, (), resolved=resolved)
    text = dict(build(view, primary=primary).footer)["Differences from the papers"]
    assert "schedule" not in text
    assert "warm-up updates 1 (10,000)" in text
    assert "attention biases false (true)" in text
    assert "layers s s f (none)" in text

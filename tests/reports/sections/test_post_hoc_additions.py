"""Arms, claims and what decides verdicts, added or changed after results: the report says after how many."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from reports.report import build
from steeplechase.ledger.facts import Amendment
from steeplechase.ledger.snapshot import Snapshot
from tests.factories.reports import Trial, document, snapshot
from tests.reports.sections.test_claims import rows

PAPER = {"source": "a paper", "statement": "better", "orderings": []}


def late_view(cached: bool) -> Snapshot:
    trials = [Trial("baseline", seed).pretrained(6.0 + seed / 50) for seed in (1, 2, 3)]
    for trial in trials if cached else ():
        trial.records = [replace(record, reused=True) for record in trial.records]
    late = [Trial("late", seed).pretrained(5.0 + seed**2 / 70) for seed in (1, 2, 3)]
    resolved = document(claims=["held_out_loss(late) < held_out_loss(baseline)"])
    return snapshot([*trials, *late], {"baseline": {}, "late": {"width": 512}}, resolved=resolved)


def test_cached_pretraining_is_reported_once_and_not_at_claims() -> None:
    known = "baseline (found finished in the stage cache), not late"
    for cached, expected in ((True, known), (False, None)):
        view = late_view(cached)
        (found,) = rows(view)
        assert (found["verdict"], found["afterwards"]) == ("as stated here", None)
        assert dict(build(view).footer).get("Results before the start") == expected


def numbered(view: Snapshot) -> Snapshot:
    """Return the view with its records numbered in the order of the trials, as a ledger does."""
    count, histories = 0, []
    for history in view.histories:
        records = tuple(
            replace(record, sequence=count + position) for position, record in enumerate(history.records, 5)
        )
        count += len(records)
        histories.append(replace(history, records=records))
    return replace(view, histories=tuple(histories))


MOMENT = "2026-01-02T03:04:05+00:00"


def amendment(after: int, changed: tuple[str, ...], document: Mapping[str, Any]) -> Amendment:
    given: dict[str, Any] = {"document": dict(document), "identity": {"experiment": "late"}, "impossible": []}
    return Amendment(after_record=after, moment=MOMENT, changed=changed, **given)


def test_an_arm_and_a_claim_added_after_results_have_the_number_of_results() -> None:
    view = numbered(late_view(cached=False))
    arms = tuple(replace(arm, after_record=7 if arm.name == "late" else 0) for arm in view.arms)
    before = {**view.document, "claims": []}
    added = amendment(7, ("arms", "claims"), view.document)
    (found,) = rows(replace(view, arms=arms, amendments=(added,), first_document=before))
    when = "after at least 3 results (record 7, 2026-01-02T03:04:05+00:00)"
    assert found["afterwards"] == f"the claim {when}; late {when}"
    footer = dict(build(replace(view, arms=arms, amendments=(added,), first_document=before)).footer)
    assert footer["Added after results"].startswith(f"arm late {when}; claim held_out_loss(late)")


def test_what_was_added_before_any_result_is_not_late() -> None:
    view = numbered(late_view(cached=False))
    added = amendment(0, ("claims",), view.document)
    (found,) = rows(replace(view, amendments=(added,), first_document={**view.document, "claims": []}))
    assert found["afterwards"] is None


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("comparison", {"comparison": "paired"}),
        ("margins", {"equivalence_margin": {"held_out_loss": 2.0}}),
        ("metrics of the paper's orderings", {"paper": {**PAPER, "metrics": ["held_out_loss"]}}),
        ("headline metrics", {"headline_metrics": ["held_out_loss"]}),
        ("pretraining seeds", {"pretraining": {"tokens": 4000, "seeds": [1, 2]}}),
    ],
)
def test_a_part_that_decides_verdicts_changed_after_results_is_reported(name: str, changed: dict[str, Any]) -> None:
    view = numbered(late_view(cached=False))
    before = {**view.document, "paper": {**PAPER, "metrics": []}}
    after = before | changed
    added = amendment(10, tuple(changed), after)
    report = build(replace(view, document=after, amendments=(added,), first_document=before))
    assert (
        dict(report.footer)["Added after results"] == f"{name} changed after at least 6 results (record 10, {MOMENT})"
    )
    assert f"The verdicts are exploratory, since {name} changed after results" in report.finding
    assert report.summary is not None
    assert "he verdicts are exploratory" in " ".join(report.summary.finding)

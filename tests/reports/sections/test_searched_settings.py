"""Searched settings: scores use the reported examples only; selection on the same dev examples is marked."""

from typing import Any

from ledger.snapshot import Snapshot
from reports.formats import render
from reports.report import Report, build
from tests.factories.reports import Trial, document, primary, snapshot

TASK = "docs_pair"
SETTINGS = ("epochs=3", "epochs=10")


def searched(chosen_on: str, labels: tuple[str, ...] = SETTINGS) -> Snapshot:
    """Return two arms whose second setting is better on the selection half and worse on the reported half."""
    trials = []
    for arm, gain in (("baseline", 0.0), ("dynamic", 2.0)):
        for seed in (1, 2, 3):
            trial = Trial(arm, seed).pretrained(6.0 + seed / 100)
            for position, setting in enumerate(labels):
                choice = {"score": 60.0 + position + gain, "n": 499, "reported": 501, "chosen_on": chosen_on}
                result: dict[str, Any] = {"task": TASK, "seed": 1, "examples": 1000, "scores": {}}
                result["scores"] = {primary(TASK): 70.0 + gain - 10 * position + seed / 10}
                result["choice"] = {**choice, "searched": {"epochs": setting}}
                trial.record("fine_tune", f"{TASK}#1 {setting}", result)
            trials.append(trial)
    arms: dict[str, dict[str, Any]] = {"baseline": {}, "dynamic": {"convolution": {"kind": "dynamic"}}}
    view = snapshot(trials, arms=arms, tasks=(TASK,), tuning_seeds=(), resolved=document((TASK,)))
    every = (*view.labels, *(f"{TASK}#1 {setting}" for setting in SETTINGS))
    return Snapshot(view.experiment, view.scale, view.document, every, view.arms, view.histories, view.shared)


def report(report: Snapshot) -> Report:
    return build(report, primary=primary)


def means(report: Report) -> dict[str, Any]:
    table = next(table for table in report.tables if table.name == "results")
    return {str(row["arm"]): row["mean"] for row in table.rows if row["metric"] == TASK}


def test_only_selected_settings_are_averaged() -> None:
    built = report(searched("held_out_half"))
    assert {arm: round(mean, 6) for arm, mean in means(built).items()} == {"baseline": 60.2, "dynamic": 62.2}
    rows = next(table for table in built.tables if table.name == "settings").rows
    assert len(rows) == 6
    assert {(row["settings"], row["combinations"], row["choice_examples"], row["examples"]) for row in rows} == {
        ("epochs=10", 2, 499, 501)
    }


def test_a_search_that_has_not_ended_has_no_score() -> None:
    assert means(report(searched("held_out_half", SETTINGS[:1]))) == {"baseline": None, "dynamic": None}


def test_selection_on_the_reported_dev_examples_is_marked_everywhere() -> None:
    marked, halved = report(searched("dev")), report(searched("held_out_half"))
    for form in ("markdown", "terminal", "html"):
        assert "docs_pair ‡" in render(marked, form).replace("\\", ""), form
        assert "‡" not in render(halved, form)
    assert any(note.startswith("‡: settings were selected on the reported dev examples") for note in marked.notes)
    assert "selected and reported on the same 499 dev examples" in dict(marked.footer)["Fine-tuning settings"]
    text = "the best of 2 (epochs), selected on 499 dev examples and reported on the other 501, split by a hash"
    assert text in dict(halved.footer)["Fine-tuning settings"]

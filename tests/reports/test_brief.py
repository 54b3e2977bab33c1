"""Brief report of the terminal: finding, results on headline metrics, verdicts, and the command for the rest."""

import re
from dataclasses import replace

import pytest

from reports.document import Report
from reports.formats import render
from reports.formats.terminal import draw
from reports.pair_report import pair_report, pairs_of
from reports.report import build
from reports.summary import brief
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.records import WITHOUT_SCALES, TrialStatus
from tests.factories.reports import Trial, document, search, snapshot, table2, troubled
from tests.reports.test_finding import scored
from tests.reports.test_intervals import everything

COMMAND = "steeplechase report results/table2 --all"


def test_a_brief_report_has_four_sentences_and_one_table_and_names_the_rest() -> None:
    report = build(table2())
    short = brief(report, COMMAND)
    assert (short.tables, short.pictures, short.paper) == (report.tables, report.pictures, "")
    assert short.finding.count(". ") == 3
    assert "Of 6 orderings of the paper 5 are as stated here" in short.finding
    (shown,) = short.grids
    assert (shown.name, shown.columns[-1].title) == ("summary", "parameters")  # results before sizes
    assert [row[0].text for row in shown.rows] == [arm.name for arm in table2().arms]
    text = draw(short, 80, colour=False)
    others = len(report.grids) - 1  # beside the results, which are shown
    assert text.endswith(f"{others} more tables, all columns and the conditions:\n{COMMAND}\n")
    assert draw(short, 20, colour=False).splitlines()[-1] == COMMAND
    assert "Corpus:" not in text
    assert max(map(len, text.splitlines())) <= 80
    assert len(text.splitlines()) <= 47


def test_a_task_below_a_reference_is_shown_with_its_mark_and_the_reference() -> None:
    (shown,) = brief(scored(47.0, 49.2), COMMAND).grids
    marked = [column.title for column in shown.columns if column.title.endswith("‡")]
    assert marked
    missed = "does not significantly exceed chance 50.0, bag of words 51.2; no difference is claimed"
    assert any(missed in note for note in shown.notes)


def test_arms_that_are_left_for_later_are_named_below_the_table() -> None:
    trials = [Trial("baseline", seed).pretrained(6.0 + seed / 100) for seed in (1, 2)]
    trials += [Trial(arm, seed, TrialStatus.WAITING) for arm in ("bottleneck", "dynamic") for seed in (1, 2)]
    table, *_ = brief(build(snapshot(trials)), "").grids
    assert [row[0].text for row in table.rows] == ["baseline"]
    assert any(note.startswith("Not run yet: bottleneck, ") for note in table.notes)


def test_a_brief_report_of_an_unfinished_run_says_so() -> None:
    arms: dict[str, dict[str, JsonValue]] = {"baseline": {}, "bottleneck": {}}
    trials = [Trial(arm, seed).pretrained(5.0 + seed / 50) for arm in arms for seed in (1, 2)]
    finished, waiting = (
        brief(build(snapshot(trials, arms, resolved=document(seeds=seeds))), "") for seeds in ((1, 2), (1, 2, 3))
    )
    assert "So far" not in finished.finding
    assert waiting.finding.startswith("So far, with 4 of 6 trials ended: ")


def two_metrics(seeds: int) -> Report:
    """Return the report of two arms on a task with two metrics, in so many seeds."""
    trials = [
        Trial(arm, seed).pretrained(loss + seed**2 / 50).tuned("mrpc", 1, f1=80.0 + seed**2, accuracy=70.0 + seed)
        for arm, loss in (("baseline", 6.0), ("bottleneck", 5.0))
        for seed in range(1, seeds + 1)
    ]
    arms = {"baseline": {}, "bottleneck": {"bottleneck_ratio": 2}}
    return build(snapshot(trials, arms, ("mrpc",), tuning_seeds=(1,)))


@pytest.mark.parametrize(("seeds", "mark"), [(1, "?: "), (2, "†: "), (3, "")])
def test_marks_are_explained_where_they_occur_and_the_deciding_metric_is_named(seeds: int, mark: str) -> None:
    notes = brief(two_metrics(seeds), "").grids[0].notes
    assert [note[:3] for note in notes if note.startswith(("?: ", "†: "))] == [mark] * bool(mark)
    assert "Of a task with several metrics the first one decides: mrpc: accuracy." in notes


def test_the_label_of_a_comparison_in_latex_has_its_arms() -> None:
    shown = table2()
    chosen = [("bottleneck", "dynamic"), ("dynamic", "bottleneck"), ("bottleneck",), ()]
    texts = [render(pair_report(*pairs_of(shown, {}, arms, ["held_out_loss"])), "latex") for arms in chosen]
    labels = [re.findall(r"label\{(.*)\}", text)[0] for text in texts]
    assert labels[0] == "tab:table2-laptop-results-held-out-loss-bottleneck-dynamic-p"
    assert len({*labels}) == len(chosen)


def test_failed_trials_are_in_a_brief_report_and_other_conditions_are_not() -> None:
    short = brief(build(troubled()), COMMAND)
    assert [term for term, _ in short.footer] == ["Failed"]
    assert brief(build(search()), COMMAND).grids[0].name == "candidates"
    assert "factors main" in [grid.name for grid in brief(build(everything()), COMMAND).grids]


def test_a_file_without_scales_has_none_in_its_report() -> None:
    view = snapshot([], {"baseline": {}}, resolved=document())
    without = build(replace(view, scale=WITHOUT_SCALES))
    assert WITHOUT_SCALES not in render(without, "markdown")
    assert "none declared" in render(without, "markdown")
    assert without.title == "table2"
    assert build(view).title == "table2 (laptop)"


@pytest.mark.parametrize("view", [table2, everything])
def test_captions_and_labels_of_latex_are_unique_and_name_their_metric(view: type) -> None:
    text = render(build(view()), "latex")
    captions, labels = (re.findall(rf"\\{name}\{{(.*)\}}", text) for name in ("caption", "label"))
    assert len(labels) == len(set(labels)) == len(captions) == len(set(captions)) > 3
    assert all(re.fullmatch(r"tab:[a-z0-9-]+", label) for label in labels)
    assert any(caption.startswith("Results: score") for caption in captions)

"""Truncated inputs and lost answers are stated in every report whose tasks have them."""

import json
from dataclasses import replace

import pytest

from foundation.schema import JsonValue
from ledger.records import Record, with_results
from ledger.stage_results import ExamplesResult
from reports.formats import render
from reports.report import Report, build
from reports.sections.truncation import TERM, TRUNCATION, truncation_notes, truncation_table
from tests.factories.reports import Trial, document, primary, shared, snapshot
from tests.factories.stage_results import SQUAD_PART

ANSWERS: dict[str, JsonValue] = {
    "train": {"examples": 1999, "truncated_share": 0.7159, "answers_lost": 754},
    "dev": {"examples": 1000, "truncated_share": 0.719, "answers_lost": 380},
}
PAIRS: dict[str, JsonValue] = {
    "train": {"examples": 3668, "truncated_share": 0.0, "answers_lost": 0},
    "dev": {"examples": 408, "truncated_share": 0.875, "answers_lost": 0},
}
WINDOWS: dict[str, JsonValue] = {"dev": dict(SQUAD_PART)}


def examples(task: str, parts: dict[str, JsonValue]) -> Record:
    return shared(
        "examples",
        f"examples {task}",
        {"task": task, "chance": None, "bag_of_words": None, "train": {"examples": 9}, **parts},
    )


def report(*records: Record) -> Report:
    tasks = tuple(result.task for _, result in with_results(records, ExamplesResult))
    view = snapshot([Trial("baseline", 1).pretrained(3.0)], {"baseline": {}}, (), resolved=document(tasks))
    return build(replace(view, shared=(*view.shared, *records)), primary=primary)


def test_shares_and_lost_answers_are_stated_by_task_dev_first() -> None:
    ((term, text),) = truncation_notes([examples("docs_answer", ANSWERS), examples("mrpc", PAIRS)])
    assert term == TERM
    assert text == (
        "truncated to the sequence length: docs_answer 71.9% of 1000 dev inputs (380 answers cut off) and 71.6% of "
        "1999 train inputs (754 answers cut off); mrpc 87.5% of 408 dev inputs. No model can give an "
        "answer that was cut off"
    )


def test_without_a_lost_answer_the_note_does_not_mention_answers() -> None:
    ((_, text),) = truncation_notes([examples("mrpc", PAIRS)])
    assert "answer" not in text


def test_untruncated_inputs_windows_and_older_records_have_no_note() -> None:
    whole: dict[str, JsonValue] = {"dev": {"examples": 9, "truncated_share": 0.0, "answers_lost": 0}}
    older: dict[str, JsonValue] = {"dev": {"examples": 9}}
    records = [examples("cola", whole), examples("squad_v1_1", WINDOWS), examples("rte", older)]
    assert list(truncation_notes(records)) == []


def test_the_table_has_a_row_per_task_and_split_and_keeps_what_is_unknown_empty() -> None:
    rows = truncation_table([examples("squad_v1_1", WINDOWS), examples("docs_answer", ANSWERS)]).rows
    assert [(row["task"], row["split"]) for row in rows] == [
        ("docs_answer", "train"),
        ("docs_answer", "dev"),
        ("squad_v1_1", "dev"),
    ]
    assert [row["truncated_share"] for row in rows] == [0.7159, 0.719, None]
    assert [row["answers_lost"] for row in rows] == [754, 380, 12]


@pytest.mark.parametrize("form", ["terminal", "markdown", "latex", "html"])
def test_every_format_with_conditions_has_the_line(form: str) -> None:
    text = " ".join(render(report(examples("docs_answer", ANSWERS)), form).split())
    assert "380 answers cut off" in text


def test_the_table_is_in_the_json_report() -> None:
    document_read = json.loads(render(report(examples("docs_answer", ANSWERS)), "json"))
    (table,) = [each for each in document_read["evidence"] if each["name"] == TRUNCATION]
    assert {
        "task": "docs_answer",
        "split": "dev",
        "examples": 1000,
        "truncated_share": 0.719,
        "answers_lost": 380,
    } in (table["rows"])

"""Words of direction in the page of published reports follow from rows of reports, declared beside them.

A sentence or table row with a word of direction ends with comments `row: FOLDER TABLE ROW VERDICT`; a heading has
them on its next line. TABLE is a table of the report, or `differences` for two of its arms, without correction. In a
heading the rows must be of tables that are corrected for multiple comparisons.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from reports.statistics.metrics import Metric
from tests.factories.paths import ROOT
from tests.reports.story_values import table
from tests.reports.test_stories import PUBLISHED, results_in

DIRECTION = re.compile(r"\b(better|worse|best|worst|level|turns?|costs?|faster|slower)\b", re.IGNORECASE)
ROW = re.compile(r"<!-- row: (\S+) (\S+) (.+?) -->")
BLOCK = re.compile(r"\n\s*\n|\n(?=- |\||## )")
SENTENCE = re.compile(r"(?<=[.!?])\s+(?!<!--)|(?<=-->)\s+(?!<!--)")
ALPHA = 0.05
WORDS = {"helps": "better", "hurts": "worse", "no difference": "level", "undecided": "undecided"}
CORRECTED = {"effects", "factors", "orderings", "claims", "tuned"}


class Sentence(NamedTuple):
    """A sentence, heading or table row with the rows declared for it."""

    text: str
    rows: tuple[tuple[str, str, str], ...]

    @property
    def heading(self) -> bool:
        return self.text.startswith("## ")

    @property
    def has_direction(self) -> bool:
        return bool(DIRECTION.search(self.text))


def sentences(page: str) -> Iterator[Sentence]:
    """Yield the sentences of a page; a heading is one, and so is a row of a table."""
    for block in BLOCK.split(page):
        full = block.startswith(("|", "## "))
        for part in [block] if full else SENTENCE.split(" ".join(block.split())):
            plain = " ".join(re.sub(r"<!--.*?-->", "", part.split("\n", 1)[0] if full else part).split())
            yield Sentence(plain, tuple(ROW.findall(part)))


def undeclared(page: str) -> list[str]:
    """Return the sentences with a word of direction and without a row."""
    return [sentence.text for sentence in sentences(page) if sentence.has_direction and not sentence.rows]


def contradicted(page: str) -> list[str]:
    """Return the declared rows that the reports do not have with this verdict."""
    declared = {row for sentence in sentences(page) for row in sentence.rows}
    return sorted(" ".join(row) for row in declared if not is_so(*row))


def is_so(folder: str, name: str, row: str) -> bool:
    """Whether a report's table has a row with this verdict."""
    if name == "differences":
        return difference_is(folder, *row.split(" "))
    if name == "results":
        return is_best(folder, *row.split(" "))
    return row in {verdict for cells in table(folder, name) for verdict in verdicts(name, cells)}


def verdicts(name: str, cells: dict[str, str]) -> Iterator[str]:
    """Yield what a row of a table says, as a comment has it."""
    if name == "effects":
        yield f"{cells['arm']} {cells['metric']} {WORDS[cells['verdict']]}"
    elif name == "tuned":  # both at their own recipes
        yield f"{cells['arm']} {cells['metric']} {WORDS[cells['own_verdict']]}"
    elif name == "claims":
        yield f"{cells['claim']} {cells['verdict']}"
    elif name == "orderings" and "ordering" in cells:
        yield f"{cells['ordering']} {cells['metric']} {cells['verdict']}"
    elif name == "orderings":
        yield f"{cells['statement']}, {cells['measure']}, {cells['at']} {cells['verdict']}"
    elif name == "factors":
        significant = bool(cells["p_holm"]) and float(cells["p_holm"]) <= ALPHA
        word = "better" if Metric(cells["metric"]).better(float(cells["delta"] or 0), 0.0) else "worse"
        yield f"{cells['effect']} {cells['metric']} {word if significant else 'undecided'}"
    elif name == "audit":
        yield f"{cells['hurdle']} stopped={cells['stopped']} audited={cells['audited']} wrong={cells['wrong']}"


def difference_is(folder: str, arm: str, reference: str, metric: str, word: str) -> bool:
    """Whether the interval of a difference, first minus second, excludes 0 on that side, or contains it."""
    difference = results_in(PUBLISHED / folder).difference(arm, reference, Metric(metric))
    assert difference.low is not None
    assert difference.high is not None
    if difference.low <= 0 <= difference.high:
        return word == "undecided"
    return word == ("better" if Metric(metric).better(difference.low, 0.0) else "worse")


def is_best(folder: str, arm: str, metric: str, word: str) -> bool:
    """Whether an arm has the best mean of a report."""
    means = {row["arm"]: float(row["mean"]) for row in table(folder, "results") if row["metric"] == metric}
    best = min(means, key=lambda name: means[name] if Metric(metric).lower_is_better else -means[name])
    return (arm, word) == (best, "best")


def page_of_stories() -> str:
    """Return the sections of the page, without the notes before the first."""
    page = (PUBLISHED / "README.md").read_text(encoding="utf-8")
    return page[page.index("\n## ") + 1 :]


def test_every_word_of_direction_has_a_row_of_a_report() -> None:
    assert undeclared(page_of_stories()) == []


@pytest.mark.parametrize("path", [PUBLISHED / "README.md", ROOT / "README.md"], ids=["published", "front page"])
def test_every_declared_row_is_in_its_report_with_that_verdict(path: Path) -> None:
    assert contradicted(path.read_text(encoding="utf-8")) == []


def test_a_heading_states_what_is_corrected_for_multiple_comparisons() -> None:
    headings = [sentence for sentence in sentences(page_of_stories()) if sentence.heading]
    assert all({name for _, name, _ in heading.rows} <= CORRECTED for heading in headings if heading.has_direction)
    for heading in headings:
        if "undecided" in heading.text:
            assert heading.rows, heading.text
            assert all(row.endswith(" undecided") for _, _, row in heading.rows), heading.text


@pytest.mark.parametrize(
    ("row", "holds"),
    [
        ("table2-wikipedia effects span_dynamic held_out_loss better", True),
        ("table2-wikipedia effects span_dynamic held_out_loss worse", False),
        ("table2-laptop effects bottleneck held_out_loss better", False),
        ("table2-wikipedia effects nothing held_out_loss undecided", False),
        ("kernel_size_short-laptop differences kernel_size=17 kernel_size=9 held_out_loss worse", True),
        ("kernel_size_short-laptop differences kernel_size=9 kernel_size=17 held_out_loss worse", False),
        ("table2-wikipedia results dynamic held_out_loss best", False),
    ],
)
def test_a_row_with_another_verdict_is_found(row: str, holds: bool) -> None:
    page = f"## A heading\n\nThe first is better than the second. <!-- row: {row} --> The loss is 3.5 nats.\n"
    assert undeclared(page) == []
    assert (contradicted(page) == []) is holds
    assert undeclared(page.replace(f"<!-- row: {row} -->", "")) == ["The first is better than the second."]


def test_a_row_belongs_to_its_own_sentence_alone() -> None:
    row = "<!-- row: table2-wikipedia effects span_dynamic held_out_loss better -->"
    text = f"One is better. {row} The other is worse.\n- A third costs nothing.\n\n## What is best\n{row}\n"
    assert undeclared(text) == ["The other is worse.", "- A third costs nothing."]

"""What is told about published reports: every interval in a story stands in its report or follows from its rows."""

import re
from itertools import permutations
from pathlib import Path

import pytest

from reports.numbers import difference_text
from reports.results import results_of
from reports.setting import setting_of
from runners.asked.metrics import primary_metric
from runners.evidence.standing import snapshot
from runners.kept.ledger_export import has_export, read_export

ROOT = Path(__file__).parents[2]
PUBLISHED = ROOT / "reports" / "published"
INTERVAL = re.compile(r"\[[+−]?\d[\d.]*, [+−]?\d[\d.]*\]")
NAMED = re.compile(r"\((?:reports/published/)?([a-z0-9_]+-[a-z0-9]+)/")


def stories() -> dict[str, str]:
    """Return the sections of the page of stories by their headings, and the README's beginning."""
    page = (PUBLISHED / "README.md").read_text(encoding="utf-8")
    sections = {text.split("\n", 1)[0]: text for text in page.split("\n## ")[1:]}
    return sections | {"README": (ROOT / "README.md").read_text(encoding="utf-8").split("\n## ", 1)[0]}


def known(folder: Path) -> set[str]:
    """Return the intervals of a report, and of every difference of two of its arms."""
    found = set(INTERVAL.findall((folder / "report.md").read_text(encoding="utf-8").replace("\\", "")))
    if has_export(folder):
        seen = snapshot(read_export(folder))
        results = results_of(seen, setting_of(seen.document), primary_metric)
        for metric in results.metrics:
            for arm, other in permutations((arm.name for arm in results.arms), 2):
                text = difference_text(results.difference(arm, other, metric), results.decimals(metric))
                found |= set(INTERVAL.findall(text))
    return found


@pytest.mark.parametrize("heading", stories())
def test_every_interval_told_is_one_of_the_reports(heading: str) -> None:
    story = stories()[heading]
    folders = {PUBLISHED / name for name in NAMED.findall(story)}
    assert folders, "a story shows its report"
    told = set(INTERVAL.findall(story))
    assert told, "a story tells its intervals"
    assert told <= set().union(*map(known, folders))


def test_every_published_folder_has_its_row_and_its_story() -> None:
    told = {name for heading, story in stories().items() if heading != "README" for name in NAMED.findall(story)}
    rows = set(re.findall(r"^\| \[`([a-z0-9_]+-[a-z0-9]+)`\]", (PUBLISHED / "README.md").read_text(), re.MULTILINE))
    assert told == rows == {path.name for path in PUBLISHED.iterdir() if path.is_dir()}

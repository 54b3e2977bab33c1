"""Texts about published reports: intervals and headings follow from the rows of the reports."""

import re
import subprocess
from itertools import permutations
from pathlib import Path

import pytest

from configuration.metrics import primary_metric
from ledger.csv_export import read_export
from ledger.example_tables import kept_example_tables
from ledger.paths import has_export
from ledger.snapshot import snapshot
from reports.by_recipe import at_shared_recipe
from reports.number_format import difference_text
from reports.publishing import published_in
from reports.statistics.comparisons import Verdict
from reports.statistics.latency import is_latency
from reports.statistics.metrics import Metric
from reports.statistics.results import Results, results_of
from tests.factories.paths import ROOT

PUBLISHED = ROOT / "reports" / "published"
INTERVAL = re.compile(r"\[[+−]?\d[\d.]*, [+−]?\d[\d.]*\]")
NAME = r"[a-z0-9_]+(?:-[a-z0-9_]+)+"
NAMED = re.compile(rf"\((?:reports/published/)?({NAME})/")
COMMENT = re.compile(r"\s*<!--.*?-->", re.DOTALL)
FORMER, FORMER_COMMIT = "table2-laptop-former", "7cee51d"


def stories() -> dict[str, str]:
    """Return the sections of the page of published reports by heading, and the beginning of the README."""
    page = COMMENT.sub("", (PUBLISHED / "README.md").read_text(encoding="utf-8"))
    sections = {text.split("\n", 1)[0]: text for text in page.split("\n## ")[1:]}
    return sections | {"README": (ROOT / "README.md").read_text(encoding="utf-8").split("\n## ", 1)[0]}


def results_in(folder: Path) -> Results:
    """Return the results of a published ledger at the shared recipe, with its values of single examples."""
    seen = at_shared_recipe(snapshot(read_export(folder)))
    return results_of(seen, primary_metric, kept_example_tables(folder))


def compares_trained_arms(folder: Path) -> bool:
    """Return whether a folder has the rows of a training experiment; latencies have no seeds."""
    return has_export(folder) and not is_latency(snapshot(read_export(folder)))


def known(folder: Path) -> set[str]:
    """Return the intervals of a report and of every difference of two arms."""
    intervals = set(INTERVAL.findall((folder / "report.md").read_text(encoding="utf-8").replace("\\", "")))
    if compares_trained_arms(folder):
        results = results_in(folder)
        for metric in results.metrics:
            for arm, other in permutations((arm.name for arm in results.arms), 2):
                for difference in (results.difference, results.widest_difference):
                    text = difference_text(difference(arm, other, metric), results.decimals(metric))
                    intervals |= set(INTERVAL.findall(text))
    return intervals


def has_one_seed(folder: Path) -> bool:
    """Return whether no arm of a report has a second pretraining seed, and so no difference an interval."""
    return compares_trained_arms(folder) and results_in(folder).seeds_in_all < 2


@pytest.mark.parametrize("heading", stories())
def test_every_interval_in_a_story_is_in_a_report(heading: str) -> None:
    story = stories()[heading]
    folders = {PUBLISHED / name for name in NAMED.findall(story)}
    assert folders, "a story names its report"
    intervals = set(INTERVAL.findall(story))
    assert intervals or all(map(has_one_seed, folders)), "a story has intervals"
    assert intervals - COMPUTED.get(heading, set()) <= set().union(*map(known, folders))


COMPUTED = {heading: {"[+0.025, +0.144]"} for heading in stories() if "on half the input" in heading}
"""Intervals over two reports by heading; `test_kernel_stories.py` computes them."""


@pytest.mark.parametrize("heading", [heading for heading in stories() if heading != "README"])
def test_a_heading_of_undecided_arms_says_undecided(heading: str) -> None:
    """A heading follows the verdicts after Holm's correction over the headline metrics."""
    folder = PUBLISHED / NAMED.findall(stories()[heading])[0]
    if not compares_trained_arms(folder) or (results := results_in(folder)).seeds_in_all < 2:
        return
    verdicts = {results.comparison(*cell_of(results, cell)).verdict for cell in results.families[0]}
    if verdicts <= {Verdict.UNDECIDED}:
        assert "undecided" in heading


def cell_of(results: Results, cell: tuple[str, str]) -> tuple[str, Metric]:
    return cell[0], next(metric for metric in results.headlines if metric.name == cell[1])


def test_the_files_of_the_former_table_are_unchanged() -> None:
    """The files equal those of the commit byte for byte; a folder without rows is not rebuilt."""
    folder = PUBLISHED / FORMER
    assert folder not in published_in(PUBLISHED)
    names = ("report.csv", "report.html", "report.json", "report.md", "report.tex", "manifest.json")
    assert {path.name for path in folder.iterdir()} == {*names, "README.md", "curves.png", "differences.png"}
    for name in names:
        assert (folder / name).read_bytes() == committed(f"reports/published/table2-laptop/{name}")


def committed(path: str) -> bytes:
    shown = subprocess.run(["git", "show", f"{FORMER_COMMIT}:{path}"], cwd=ROOT, capture_output=True, check=False)
    if shown.returncode:
        pytest.skip(f"a clone without commit {FORMER_COMMIT} cannot compare")
    return shown.stdout


def test_every_published_folder_has_its_row_and_its_story() -> None:
    text = {name for heading, story in stories().items() if heading != "README" for name in NAMED.findall(story)}
    rows = set(re.findall(rf"^\| \[`({NAME})`\]", (PUBLISHED / "README.md").read_text(), re.MULTILINE))
    assert text == rows == {path.name for path in PUBLISHED.iterdir() if path.is_dir()}


def test_the_page_names_the_reports_that_kept_no_single_examples() -> None:
    page = " ".join((PUBLISHED / "README.md").read_text(encoding="utf-8").split())
    listed = page.partition("and all of ")[2].partition(", which did not keep single values")[0]
    named = set(re.findall(r"`([^`]+)`", listed))
    folders = {
        folder.name: folder for folder in PUBLISHED.iterdir() if folder.is_dir() and compares_trained_arms(folder)
    }
    without = {name for name, folder in folders.items() if not (folder / "ledger" / "examples").is_dir()}
    assert without == {name for name in folders if {name, name.rpartition("-")[0]} & named}

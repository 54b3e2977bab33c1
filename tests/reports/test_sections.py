"""A report has every section and every figure exactly once."""

import pkgutil
from collections import Counter
from dataclasses import replace
from importlib import import_module
from types import ModuleType

import pytest

import reports.figures
import reports.sections
from reports.by_recipe import at_own_recipes, at_shared_recipe
from reports.figures import FIGURES, LATENCY_FIGURES
from reports.report import LATENCY_SECTIONS, LISTED_FIRST, SECTIONS, build
from reports.statistics.evidence import Evidence
from reports.statistics.results import results_of
from steeplechase.foundation.errors import CorruptionError
from tests.factories.reports import empty, primary, search, table2, troubled, tuned

VIEWS = {"table2": table2, "search": search, "tuned": tuned, "troubled": troubled, "empty": empty}


def declared(package: ModuleType, name: str) -> list[object]:
    modules = (import_module(f"{package.__name__}.{each.name}") for each in pkgutil.iter_modules(package.__path__))
    return [getattr(module, name) for module in modules if hasattr(module, name)]


def evidence_of(view: str) -> Evidence:
    full_view = VIEWS[view]()
    own = at_own_recipes(full_view)
    return Evidence(
        results_of(at_shared_recipe(full_view), primary), None if own is None else results_of(own, primary)
    )


def test_every_section_and_every_figure_of_the_folders_is_in_the_report_once() -> None:
    sections, figures = (SECTIONS, LATENCY_SECTIONS), (FIGURES, LATENCY_FIGURES)
    for package, name, kinds in ((reports.sections, "SECTION", sections), (reports.figures, "FIGURE", figures)):
        listed = [id(each) for kind in kinds for each in kind]
        assert Counter(listed) == Counter(map(id, declared(package, name)))
    for kind in (*sections, *figures):
        assert len({each.name for each in kind}) == len(kind)


@pytest.mark.parametrize("view", VIEWS)
def test_tables_are_named_once_and_notes_are_below_some_table(view: str) -> None:
    evidence = evidence_of(view)
    report = build(VIEWS[view](), primary)
    contents = [section.content(evidence) for section in SECTIONS if section.applies(evidence)]
    names = [table.name for content in contents for table in content.tables]
    assert len(set(names)) == len(names)
    assert sorted(names) == sorted(table.name for table in report.tables)
    left_over = {note for content in contents for note in content.notes_on_results}
    assert not evidence.results.arms or left_over <= set(report.notes)


@pytest.mark.parametrize("view", VIEWS)
def test_a_document_lists_the_results_first_and_then_in_the_stated_order(view: str) -> None:
    names = [table.name for table in build(VIEWS[view](), primary).tables]
    assert names[0] == "results"
    stated = [name for name in names if name in LISTED_FIRST]
    assert stated == names[: len(stated)] == sorted(stated, key=LISTED_FIRST.index)


@pytest.mark.parametrize("view", VIEWS)
def test_a_picture_has_numbers_under_its_own_name(view: str) -> None:
    for picture in build(VIEWS[view](), primary).pictures:
        assert picture.numbers.name == picture.name
        assert picture.numbers.rows
        assert picture.title


def test_an_experiment_with_fields_of_another_version_is_refused_in_one_line_that_names_them() -> None:
    view = table2()
    other = replace(view, document={**view.document, "curriculum": "none"})
    with pytest.raises(CorruptionError, match="curriculum") as refusal:
        build(other, primary)
    assert len(refusal.value.lines) == 1

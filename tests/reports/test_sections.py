"""A report has every section and every figure exactly once."""

from dataclasses import replace

import pytest

from reports.by_recipe import at_own_recipes, at_shared_recipe
from reports.report import LISTED_FIRST, build
from reports.section import Content, Section
from reports.sections import CLAUSES, CONDITIONS, FIGURES, TABLES, in_order, sections
from reports.statistics.evidence import Evidence
from reports.statistics.reading import results_of
from reports.table import Table
from steeplechase.foundation.errors import CorruptionError
from tests.factories.reports import empty, primary, search, table2, troubled, tuned

VIEWS = {"table2": table2, "search": search, "tuned": tuned, "troubled": troubled, "empty": empty}


def evidence_of(view: str) -> Evidence:
    full_view = VIEWS[view]()
    own = at_own_recipes(full_view)
    return Evidence(
        results_of(at_shared_recipe(full_view), primary), None if own is None else results_of(own, primary)
    )


def test_every_section_has_its_own_name_and_the_orders_name_each_file_once() -> None:
    names = [section.name for section in sections().values()]
    figures = [section.figure.name for section in sections().values() if section.figure is not None]
    assert len({*names}) == len(names)
    assert len({*figures}) == len(figures)
    for order in (TABLES, FIGURES, CLAUSES, CONDITIONS):
        assert len({*order}) == len(order)
        assert {*order} <= sections().keys()


def test_an_order_names_what_its_sections_offer() -> None:
    offers = {"content": TABLES, "clauses": CLAUSES, "conditions": CONDITIONS, "figure": FIGURES}
    for attribute, order in offers.items():
        nothing = getattr(Section("nothing"), attribute)
        offering = {name for name, found in sections().items() if getattr(found, attribute) is not nothing}
        assert {*order} <= offering


def test_a_file_of_the_folder_is_a_question_of_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    named = Section[Evidence]("arms", lambda evidence: Content((Table.of("arms", [{"arm": "a"}]),)))
    monkeypatch.setitem(sections(), "arms", named)
    assert "arms" in {table.name for table in build(table2(), primary).tables}


@pytest.mark.parametrize("view", VIEWS)
def test_tables_are_named_once_and_notes_are_below_some_table(view: str) -> None:
    evidence = evidence_of(view)
    report = build(VIEWS[view](), primary)
    contents = [section.content(evidence) for section in in_order(TABLES, evidence) if section.applies(evidence)]
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

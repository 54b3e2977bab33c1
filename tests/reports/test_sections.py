"""A report has every section and every figure exactly once."""

from dataclasses import replace

import pytest

from reports.report import LISTED_FIRST, build
from reports.section import Content, Section
from reports.sections import CLAUSES, CONDITIONS, FIGURES, TABLES, in_order, sections
from reports.table import Table
from reports.views import own_results, shared_results
from steeplechase.foundation.errors import CorruptionError
from tests.factories.read_reports import rows_of
from tests.factories.reports import primary, table2
from tests.reports.test_formats import VIEWS


def test_every_section_has_its_own_name_and_the_orders_name_each_file_once() -> None:
    names = [section.name for section in sections().values()]
    figures = [section.figure.name for section in sections().values() if section.figure is not None]
    for each in (names, figures, TABLES, FIGURES, CLAUSES, CONDITIONS):
        assert len({*each}) == len(each)


def test_an_order_names_what_its_sections_offer() -> None:
    offers = {"content": TABLES, "clauses": CLAUSES, "conditions": CONDITIONS, "figure": FIGURES}
    for attribute, order in offers.items():
        nothing = getattr(Section("nothing"), attribute)
        assert {*order} <= {name for name, found in sections().items() if getattr(found, attribute) is not nothing}


def test_a_file_of_the_folder_is_a_question_of_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    named = Section("arms", lambda results: Content((Table.of("arms", [{"arm": "a"}]),)))
    monkeypatch.setitem(sections(), "arms", named)
    assert rows_of(build(table2(), primary), "arms") == [{"arm": "a"}]


@pytest.mark.parametrize("view", VIEWS)
def test_tables_are_named_once_and_in_the_stated_order_and_notes_are_below_some_table(view: str) -> None:
    whole = VIEWS[view]()
    results = replace(shared_results(whole, primary), own_recipes=own_results(whole, primary))
    report = build(whole, primary)
    contents = [section.content(results) for section in in_order(TABLES, results) if section.applies(results)]
    names = [table.name for table in report.tables]
    assert len({*names}) == len(names)
    assert sorted(names) == sorted(table.name for content in contents for table in content.tables)
    left_over = {note for content in contents for note in content.notes_on_results}
    assert not results.arms or left_over <= {*report.notes}
    stated = [name for name in LISTED_FIRST if name in names]
    assert names[: len(stated)] == stated
    assert names[0] == "results"
    for picture in report.pictures:
        assert (picture.numbers.name, bool(picture.numbers.rows), bool(picture.title)) == (picture.name, True, True)


def test_an_experiment_with_fields_of_another_version_is_refused_in_one_line_that_names_them() -> None:
    view = table2()
    with pytest.raises(CorruptionError, match="curriculum") as refusal:
        build(replace(view, document={**view.document, "curriculum": "none"}), primary)
    assert len(refusal.value.lines) == 1

"""A report: one finding with its evidence, assembled from independent sections and figures."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from reports.document import Notes, Report
from reports.figures.figure import Picture
from reports.finding import chosen_sentences, finding_of, limits_of
from reports.made_with import made_with_of
from reports.section import Content, Section
from reports.sections import CONDITIONS, FIGURES, TABLES, in_order, main_table
from reports.sections.setup import scale_of
from reports.statistics.reading import NO_EXAMPLES
from reports.statistics.results import Results
from reports.statistics.trial_values import trial_values
from reports.summary import summary_of
from reports.table import Grid, Table, printable, with_notes
from reports.views import final_results, own_results, shared_results
from steeplechase.analysis.difference import ALPHA
from steeplechase.configuration.metrics import PrimaryMetric
from steeplechase.configuration.yaml.text import experiment_text
from steeplechase.ledger.example_tables import ExampleTable
from steeplechase.ledger.snapshot import Snapshot

LISTED_FIRST = (
    *(
        "results",
        "effects",
        "claims",
        "candidates",
        "importance",
        "lineage",
        "audit",
        "pareto",
    ),
    *("isolated", "factors", "attention_diagonal", "paper", "departures", "reference"),
)
"""Tables listed first in a JSON report; all others follow in the order of their sections."""


def build(
    snapshot: Snapshot,
    primary: PrimaryMetric | None = None,
    example_tables: Mapping[str, ExampleTable] = NO_EXAMPLES,
) -> Report:
    """Return the report of a snapshot, with the values of single examples where these were kept.

    Raises CorruptionError if this version cannot read the experiment.
    """
    searched = shared_results(snapshot, primary, example_tables)
    searched = replace(searched, own_recipes=own_results(snapshot, primary, example_tables))
    results = final_results(snapshot, primary, example_tables) or searched
    contents = [*_contents(in_order(TABLES, results), results, searched)]
    grids = tuple(_with_notes_on_results(contents))
    experiment, scale = searched.experiment, scale_of(snapshot.scale)
    conditions = (*conditions_of(results, searched), *_intervals(grids))
    remark = f"{snapshot.experiment}, {f'resolved at scale {scale}' if scale else 'as it was run'}"
    paper = f"{experiment.paper.statement} ({experiment.paper.source})" if experiment.paper else ""
    return Report(
        experiment=printable(snapshot.experiment),
        scale=printable(scale),
        question=printable(experiment.question),
        statements=tuple(map(printable, finding_of(searched, results, snapshot))),
        limits=printable(limits_of(results)),
        paper=printable(paper),
        tables=tuple(sorted((table for content in contents for table in content.tables), key=_listed_at)),
        grids=grids,
        footer=tuple((term, printable(text)) for term, text in conditions),
        trials=trial_values(
            [searched] if results is searched else [searched, results],
            *(section.values(results) for section in in_order((), results)),
        ),
        declared=lambda: experiment_text(experiment, printable(f"{remark}: what differs from the defaults")),
        figures=lambda: _pictures(in_order(FIGURES, results), results, searched),
        made_with=made_with_of(snapshot),
        summary=summary_of(results, chosen_sentences(snapshot)),
    )


def conditions_of(*views: Results) -> Notes:
    """Return the conditions under which the numbers were measured, each section's of the first view with any."""
    found: list[tuple[str, str]] = []
    for section in in_order(CONDITIONS, views[0]):
        of_views = ([(term, text) for term, text in section.conditions(view) if text] for view in views)
        found += next(filter(None, of_views), [])
    return tuple(found)


def _intervals(grids: Iterable[Grid]) -> Notes:
    """Return the number of uncorrected intervals in the grids and how many exclude 0 by chance."""
    count = sum(grid.intervals for grid in grids)
    if count < 2:
        return ()
    text = (
        f"the tables of this report show {count} intervals of a difference or ratio at 95%, without correction for "
        f"multiple comparisons; if no arm differed, about {count * ALPHA:.1f} of them would exclude 0, or a "
        "ratio of 1, by chance"
    )
    return (("Intervals", text),)


def _pictures(sections: Iterable[Section], *views: Results) -> tuple[Picture, ...]:
    """Return the figures, each of the first view that has it."""
    figures = [section.figure for section in sections if section.figure is not None]
    found = (next(filter(None, map(figure.picture_of, views)), None) for figure in figures)
    return tuple(picture for picture in found if picture is not None)


def _contents(sections: Iterable[Section], *views: Results) -> Iterator[Content]:
    """Yield what the sections have, each of the first view that it applies to, in the order of the views."""
    left = [*sections]
    for view in views:
        yield from (section.content(view) for section in left if section.applies(view))
        left = [section for section in left if not section.applies(view)]


def _listed_at(table: Table) -> int:
    return LISTED_FIRST.index(table.name) if table.name in LISTED_FIRST else len(LISTED_FIRST)


def _with_notes_on_results(contents: Sequence[Content]) -> Iterator[Grid]:
    """Yield the grids; the main table also has the notes of sections without a grid."""
    notes = [note for content in contents for note in content.notes_on_results]
    for grid in (grid for content in contents for grid in content.grids):
        yield with_notes(grid, notes) if grid.name == main_table.SECTION.name else grid

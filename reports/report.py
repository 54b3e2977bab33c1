"""A report: one finding with its evidence, assembled from independent sections and figures."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import TypeVar

from reports.by_recipe import at_own_recipes, at_shared_recipe, examples_at_own_recipes
from reports.document import Notes, Report
from reports.figures.figure import Picture
from reports.final_comparison import at_final_seeds, examples_at_final_seeds
from reports.finding import chosen_sentences, finding_of
from reports.grid import Grid, with_notes
from reports.limits import limits_of
from reports.made_with import made_with_of
from reports.sanitise import printable
from reports.section import Content, Section
from reports.sections import CONDITIONS, FIGURES, TABLES, in_order, main_table
from reports.sections.setup import scale_of
from reports.statistics.evidence import Evidence
from reports.statistics.reading import NO_EXAMPLES, results_of
from reports.statistics.trial_values import trial_values
from reports.summary import summary_of
from reports.table import Table
from steeplechase.analysis.difference import ALPHA
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.metrics import PrimaryMetric
from steeplechase.configuration.yaml.writing import experiment_text
from steeplechase.ledger.example_tables import ExampleTable
from steeplechase.ledger.snapshot import Snapshot

E = TypeVar("E")

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
    own = at_own_recipes(snapshot)
    results = results_of(at_shared_recipe(snapshot), primary, example_tables)
    own_tables = examples_at_own_recipes(snapshot, example_tables)
    searched = Evidence(results, None if own is None else results_of(own, primary, own_tables))
    final, final_tables = at_final_seeds(snapshot, primary), examples_at_final_seeds(snapshot, example_tables)
    evidence = searched if final is None else Evidence(results_of(final, primary, final_tables))
    contents = _contents(in_order(TABLES, evidence), evidence, searched)
    grids = tuple(_with_notes_on_results(contents))
    paper, conditions = results.experiment.paper, (*conditions_of(evidence, searched), *_intervals(grids))
    return Report(
        experiment=printable(snapshot.experiment),
        scale=printable(scale_of(snapshot.scale)),
        question=printable(results.experiment.question),
        statements=tuple(map(printable, finding_of(searched, evidence, snapshot))),
        limits=printable(limits_of(evidence.results)),
        paper=printable(f"{paper.statement} ({paper.source})") if paper else "",
        tables=_tables(contents),
        grids=grids,
        footer=tuple((term, printable(text)) for term, text in conditions),
        trials=trial_values(
            [results] if final is None else [results, evidence.results],
            *(section.values(evidence) for section in in_order((), evidence)),
        ),
        declaration=_declaration(snapshot, results.experiment),
        pictures=_pictures(in_order(FIGURES, evidence), evidence, searched),
        made_with=made_with_of(snapshot),
        summary=summary_of(evidence, chosen_sentences(snapshot)),
    )


def conditions_of(*evidence: Evidence) -> Notes:
    """Return the conditions under which the numbers were measured, each section's of the first evidence with any."""
    sections = in_order(CONDITIONS, evidence[0])
    found = (filter(None, (tuple(section.conditions(each)) for each in evidence)) for section in sections)
    return tuple(condition for of_section in found for condition in next(of_section, ()))


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


def _pictures(sections: Iterable[Section[E]], *evidence: E) -> tuple[Picture, ...]:
    """Return the figures, each of the first evidence that has it."""
    figures = [section.figure for section in sections if section.figure is not None]
    found = (next(filter(None, map(figure.picture_of, evidence)), None) for figure in figures)
    return tuple(picture for picture in found if picture is not None)


def _declaration(snapshot: Snapshot, experiment: Experiment) -> str:
    scale = scale_of(snapshot.scale)
    resolved = f"resolved at scale {scale}" if scale else "as it was run"
    remark = f"{snapshot.experiment}, {resolved}: what differs from the defaults"
    return experiment_text(experiment, printable(remark))


def _contents(sections: Iterable[Section[E]], *evidence: E) -> tuple[Content, ...]:
    """Return what the sections have, each of the first evidence that it applies to, in the order of the evidence."""
    applicable = ((_first_of(section.applies, evidence), section) for section in sections)
    found = sorted(((place, section) for place, section in applicable if place is not None), key=itemgetter(0))
    return tuple(section.content(evidence[place]) for place, section in found)


def _first_of(applies: Callable[[E], bool], evidence: Sequence[E]) -> int | None:
    """Return the place of the first evidence that something applies to; None without one."""
    return next((place for place, each in enumerate(evidence) if applies(each)), None)


def _tables(contents: Iterable[Content]) -> tuple[Table, ...]:
    return tuple(sorted((table for content in contents for table in content.tables), key=_listed_at))


def _listed_at(table: Table) -> int:
    return LISTED_FIRST.index(table.name) if table.name in LISTED_FIRST else len(LISTED_FIRST)


def _with_notes_on_results(contents: Sequence[Content]) -> Iterator[Grid]:
    """Yield the grids; the main table also has the notes of sections without a grid."""
    notes = [note for content in contents for note in content.notes_on_results]
    for grid in (grid for content in contents for grid in content.grids):
        yield with_notes(grid, notes) if grid.name == main_table.SECTION.name else grid

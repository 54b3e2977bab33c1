"""What differs from the paper: computed from the declaration against the released values, and never typed."""

from collections.abc import Iterator

from configuration.arm import BASELINE
from configuration.released_fine_tuning import fine_tuning_differences, size_of
from reports.grid import Column, Grid, grid
from reports.section import Content, Section, with_rows
from reports.sections.paper_comparison import paper_rows
from reports.statistics.evidence import Evidence
from reports.statistics.results import Results
from reports.table import Row, Table, table
from search_space.released.differences import departures, option_departures
from search_space.released.models import preset_of
from search_space.released.papers import OptionDeparture, published

DEPARTURES = "departures"
EVERY_ARM, NONE = "every arm", "nothing"


def departures_table(results: Results) -> Table:
    """Return what differs: of all arms, of single ones, of text and fine-tuning; empty without a paper's table."""
    named = paper_rows(results) is not None
    return table(DEPARTURES, "where what", _rows(results) if named else ())


def departures_grid(found: Table) -> Iterator[Grid]:
    """Yield the table as people read it, none where there is none."""
    if found.rows:
        columns = [Column("where", numeric=False), Column("here (there)", numeric=False)]
        rows = ([str(row["where"]), str(row["what"])] for row in found.rows)
        yield grid(DEPARTURES, "What differs from the paper", columns, rows)


def options_departing(results: Results) -> tuple[OptionDeparture, ...]:
    """Return what the options of any arm differ in from the paper's modes of the same names."""
    return option_departures(*(arm.candidate.architecture for arm in results.arms))


def option_notes(results: Results) -> Iterator[tuple[str, str]]:
    """Yield the same as a line of the conditions, where no table of departures has it."""
    if paper_rows(results) is None and (found := options_departing(results)):
        yield "Options that differ from the paper's", "; ".join(each.what for each in found)


def _rows(results: Results) -> Iterator[Row]:
    for where, what in _by_arm(results).items():
        yield {"where": where, "what": ", ".join(what) or NONE}
    there = published().corpora["convbert"]["pretraining"]
    yield {"where": "text", "what": f"{results.experiment.corpus.kind} ({there})"}
    if results.tasks:
        yield {"where": "fine-tuning", "what": "; ".join(_of_fine_tuning(results)) or NONE}
    for each in options_departing(results):
        yield {"where": f"{each.axis} {each.kind}", "what": each.what}
    whole, _ = paper_rows(results) or (None, {})
    for assumption in whole.assumptions if whole is not None else ():
        yield {"where": "assumed", "what": assumption}
    yield {"where": "always", "what": "; ".join(published().departure_texts)}


def _by_arm(results: Results) -> dict[str, list[str]]:
    """Return the differences of each arm from what its row was trained as, those of all arms first and once."""
    whole, rows = paper_rows(results) or (None, {})
    tokens = results.experiment.pretraining.tokens
    found: dict[str, list[str]] = {}
    for arm in results.arms:
        released = preset_of(whole.rows[rows[arm.name]]) if whole is not None and arm.name in rows else None
        if released is not None:
            found[arm.name] = [str(each) for each in departures(arm.candidate, tokens, released)]
    if len(found) < 2:
        return found
    first, *others = found.values()
    common = [each for each in first if all(each in other for other in others)]
    own = {arm: [each for each in every if each not in common] for arm, every in found.items()}
    return {EVERY_ARM: common, **{arm: alone for arm, alone in own.items() if alone}}


def _of_fine_tuning(results: Results) -> Iterator[str]:
    """Yield where the declared fine-tuning leaves the release's: what all tasks do, then what single ones do."""
    tuning = results.experiment.fine_tuning
    whole, rows = paper_rows(results) or (None, {})
    model = whole.rows[rows[BASELINE]].model if whole is not None and BASELINE in rows else None
    size = size_of(model)
    found = {task: fine_tuning_differences(tuning, task, size) for task in results.tasks}
    first, *others = found.values()
    common = [each for each in first if all(each in other for other in others)]
    yield from map(str, common)
    for task, every in found.items():
        own = [str(each) for each in every if each not in common]
        if own:
            yield f"of {task}: {', '.join(own)}"


def _content(evidence: Evidence) -> Content:
    differences = departures_table(evidence.results)
    return Content(with_rows(differences), tuple(departures_grid(differences)))


SECTION = Section(DEPARTURES, _content)

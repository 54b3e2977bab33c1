"""Differences from the paper, computed from the declaration and the released values."""

from collections.abc import Iterator

from reports.grid import Column, Grid, grid
from reports.section import Content, Section, with_rows
from reports.sections.paper_comparison import paper_rows
from reports.statistics.evidence import Evidence
from reports.statistics.results import Results
from reports.table import Row, Table, table
from search_space.released.differences import departures, option_departures
from search_space.released.models import preset_of
from search_space.released.papers import OptionDeparture, published
from steeplechase.configuration.arm import BASELINE
from steeplechase.configuration.released_fine_tuning import fine_tuning_differences, size_of

DEPARTURES = "departures"
EVERY_ARM, NONE = "every arm", "nothing"


def departures_table(results: Results) -> Table:
    """Return the differences: of all arms, single arms, text and fine-tuning; empty without a paper's table."""
    named = paper_rows(results) is not None
    return table(DEPARTURES, "where what", _rows(results) if named else ())


def departures_grid(departures: Table) -> Iterator[Grid]:
    """Yield the table as a grid; none without differences."""
    if departures.rows:
        columns = [Column("where", numeric=False), Column("this run (the paper)", numeric=False)]
        rows = ([str(row["where"]), str(row["what"])] for row in departures.rows)
        yield grid(DEPARTURES, "Differences from the paper", columns, rows)


def options_departing(results: Results) -> tuple[OptionDeparture, ...]:
    """Return how options of the arms differ from the paper's modes of the same names."""
    return option_departures(*(arm.candidate.architecture for arm in results.arms))


def option_notes(results: Results) -> Iterator[tuple[str, str]]:
    """Yield the same as a condition in the footer, for reports without a table of differences."""
    if paper_rows(results) is None and (options := options_departing(results)):
        yield "Options that differ from the paper's", "; ".join(option.what for option in options)


def _rows(results: Results) -> Iterator[Row]:
    for where, differences in _by_arm(results).items():
        yield {"where": where, "what": ", ".join(differences) or NONE}
    paper_table, _ = paper_rows(results) or (None, {})
    by_convberts_code = paper_table is None or paper_table.by_convberts_code
    if by_convberts_code:
        paper_corpus = published().corpora["convbert"]["pretraining"]
        yield {"where": "text", "what": f"{results.experiment.corpus.kind} ({paper_corpus})"}
    if results.tasks and by_convberts_code:
        yield {"where": "fine-tuning", "what": "; ".join(_of_fine_tuning(results)) or NONE}
    for option in options_departing(results):
        yield {"where": f"{option.axis} {option.kind}", "what": option.what}
    for assumption in paper_table.assumptions if paper_table is not None else ():
        yield {"where": "assumed", "what": assumption}
    if by_convberts_code:
        yield {"where": "always", "what": "; ".join(published().departure_texts)}


def _by_arm(results: Results) -> dict[str, list[str]]:
    """Return the differences of each arm from the released model of its row; those common to all arms first."""
    paper_table, rows = paper_rows(results) or (None, {})
    tokens = results.experiment.pretraining.tokens
    by_arm: dict[str, list[str]] = {}
    for arm in results.arms:
        released = (
            preset_of(paper_table.rows[rows[arm.name]]) if paper_table is not None and arm.name in rows else None
        )
        if released is not None:
            by_arm[arm.name] = [str(difference) for difference in departures(arm.candidate, tokens, released)]
    if len(by_arm) < 2:
        return by_arm
    of_first_arm, *other_arms = by_arm.values()
    common = [
        difference for difference in of_first_arm if all(difference in of_other_arm for of_other_arm in other_arms)
    ]
    by_arm_alone = {
        arm: [difference for difference in differences if difference not in common]
        for arm, differences in by_arm.items()
    }
    return {EVERY_ARM: common, **{arm: remaining for arm, remaining in by_arm_alone.items() if remaining}}


def _of_fine_tuning(results: Results) -> Iterator[str]:
    """Yield the differences of the declared fine-tuning from the released one: of all tasks, then of single tasks."""
    tuning = results.experiment.fine_tuning
    paper_table, rows = paper_rows(results) or (None, {})
    model = paper_table.rows[rows[BASELINE]].model if paper_table is not None and BASELINE in rows else None
    size = size_of(model)
    by_task = {task: fine_tuning_differences(tuning, task, size) for task in results.tasks}
    of_first_task, *other_tasks = by_task.values()
    common = [
        difference
        for difference in of_first_task
        if all(difference in of_other_task for of_other_task in other_tasks)
    ]
    yield from map(str, common)
    for task, differences in by_task.items():
        of_this_task = [str(difference) for difference in differences if difference not in common]
        if of_this_task:
            yield f"of {task}: {', '.join(of_this_task)}"


def _content(evidence: Evidence) -> Content:
    differences = departures_table(evidence.results)
    return Content(with_rows(differences), tuple(departures_grid(differences)))


SECTION = Section(DEPARTURES, _content)

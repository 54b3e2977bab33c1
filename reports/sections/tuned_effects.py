"""Tuned effects: each arm's difference from the baseline at the shared recipe, and with both at their tuned recipes.

At its own recipe an arm is compared with the baseline at the baseline's own recipe. The two columns are two families
of tests, each corrected for multiplicity separately.
"""

from collections.abc import Iterator
from functools import partial

from reports.number_format import NOTHING, counted
from reports.section import DELTA, Content, Section, interval_cell
from reports.sections.main_table import results_table
from reports.sections.verdicts import verdict_text
from reports.statistics.comparisons import Comparison
from reports.statistics.metrics import Metric
from reports.statistics.results import Results
from reports.table import Cell, Column, Grid, Row, Table, compared, shown, words
from steeplechase.analysis.difference import Difference
from steeplechase.configuration.arm import BASELINE

TUNED = "tuned"


def _rows(shared: Results, own: Results | None) -> Iterator[Row]:
    """Yield both differences of every arm on every metric, with the name of the point selected for the arm."""
    tuning = shared.snapshot.tuning
    assert tuning is not None
    recipes = {choice.arm: tuning.tried.names[choice.point] for choice in tuning.choices}
    for arm in shared.arms:
        for metric in shared.metrics if arm.name != BASELINE else ():
            yield {
                "arm": arm.name,
                "metric": metric.name,
                "recipe": recipes.get(arm.name),
                **_prefixed("shared_", shared, arm.name, metric),
                **_prefixed("own_", own, arm.name, metric),
            }


def _compared(results: Results | None, arm: str, metric: Metric) -> tuple[Difference, Comparison | None]:
    measured = results is not None and metric in results.metrics and any(arm == row.name for row in results.arms)
    if results is None or not measured:
        return Difference(), None
    return results.effect(arm, metric).difference, results.comparison(arm, metric)


def _prefixed(prefix: str, results: Results | None, arm: str, metric: Metric) -> Row:
    difference, found = _compared(results, arm, metric)
    tested = (None, None, None) if found is None else (found.p, found.p_adjusted, str(found.verdict))
    of_test = zip(("p", "p_adjusted", "verdict"), tested, strict=True)
    return {**compared(difference, prefix=prefix), **{f"{prefix}{name}": value for name, value in of_test}}


def _grids(shared: Results, own: Results | None, notes: tuple[str, ...]) -> Iterator[Grid]:
    """Yield one grid per headline metric with both differences; the last one has the notes."""
    for metric in shared.headlines:
        arms = [arm.name for arm in shared.arms if arm.name != BASELINE and _compared(shared, arm.name, metric)[0].n]
        columns = [words("arm", str), *_columns(shared, own, metric)]
        title = f"Differences in {metric.title}: at the shared recipe, and with every arm at its own recipe"
        yield from shown(TUNED, title, columns, arms, notes if metric == shared.headlines[-1] else ())


def _columns(shared: Results, own: Results | None, metric: Metric) -> Iterator[Column]:
    def difference(results: Results | None, arm: str) -> Cell:
        return interval_cell(_compared(results, arm, metric)[0], shared.decimals(metric))

    def verdict(results: Results | None, arm: str) -> str:
        found = _compared(results, arm, metric)[1]
        return NOTHING if found is None else verdict_text(found)

    sides = {"shared recipe": shared, "own recipe": own}
    yield from (Column(title, DELTA, read=partial(difference, results)) for title, results in sides.items())
    yield from (words(title, partial(verdict, results), "verdict") for title, results in sides.items())


def _notes(own: Results | None) -> Iterator[str]:
    """Yield the correction of the verdicts at own recipes."""
    if own is None:
        return
    tested = sum(own.comparison(arm, Metric(metric)).p is not None for arm, metric in own.families[0])
    yield (
        "Own recipe: each arm at the recipe that tuning selected for it, compared with the baseline at its own "
        f"recipe. These verdicts are a separate family of {counted(tested, 'test')}, corrected as in the main table; "
        "the verdicts at the shared recipe are corrected independently of them."
    )


def _content(shared: Results) -> Content:
    own = shared.own_recipes
    tables = [Table.of(TUNED, _rows(shared, own))]
    if own is not None:
        tables.append(Table.of("own_recipe", results_table(own, matched=False).rows))
    notes = tuple(_notes(own))
    grids = tuple(_grids(shared, own, notes))
    return Content(tuple(tables), grids, notes_on_results=() if grids else notes)


SECTION = Section(TUNED, _content, lambda results: results.snapshot.tuning is not None)

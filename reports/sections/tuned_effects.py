"""Tuned effects: each arm's difference from the baseline at the shared recipe, and with both at their tuned recipes.

At its own recipe an arm is compared with the baseline at the baseline's own recipe. The two columns are two families
of tests, each corrected for multiplicity separately.
"""

from collections.abc import Iterator

from reports.grid import Cell, Column, Grid, grid, with_notes
from reports.number_format import NOTHING, counted
from reports.section import Content, Section
from reports.sections.difference_cells import interval_cell
from reports.sections.main_table import RESULT_COLUMNS, results_table
from reports.sections.verdicts import verdict_text
from reports.statistics.comparisons import Comparison
from reports.statistics.evidence import Evidence
from reports.statistics.metrics import Metric
from reports.statistics.results import Results
from reports.table import Row, Table, table
from steeplechase.analysis.difference import Difference
from steeplechase.configuration.arm import BASELINE

TUNED = "tuned"
SIDES = ("shared", "own")
PARTS = ("n", "delta", "low", "high", "p", "p_adjusted", "verdict")
COLUMNS = " ".join(["arm", "metric", "recipe", *(f"{side}_{part}" for side in SIDES for part in PARTS)])


def tuned_tables(shared: Results, own: Results | None) -> Iterator[Table]:
    """Yield both differences of every arm on every metric, then the results at own recipes."""
    yield table(TUNED, COLUMNS, _rows(shared, own))
    if own is not None:
        yield Table("own_recipe", RESULT_COLUMNS, results_table(own).rows)


def _rows(shared: Results, own: Results | None) -> Iterator[Row]:
    for arm in shared.arms:
        for metric in shared.metrics if arm.name != BASELINE else ():
            yield {
                "arm": arm.name,
                "metric": metric.name,
                "recipe": _recipe(shared, arm.name),
                **_prefixed("shared", shared, arm.name, metric),
                **_prefixed("own", own, arm.name, metric),
            }


def _recipe(results: Results, arm: str) -> str | None:
    """Return the name of the point selected for an arm; None before the selection."""
    tuning = results.snapshot.tuning
    assert tuning is not None
    return next((tuning.tried.names[choice.point] for choice in tuning.choices if choice.arm == arm), None)


def _compared(results: Results | None, arm: str, metric: Metric) -> tuple[Difference, Comparison | None]:
    measured = results is not None and metric in results.metrics and any(arm == row.name for row in results.arms)
    if results is None or not measured:
        return Difference(), None
    return results.effect(arm, metric).difference, results.comparison(arm, metric)


def _prefixed(prefix: str, results: Results | None, arm: str, metric: Metric) -> Row:
    difference, compared = _compared(results, arm, metric)
    values = (difference.n, difference.delta, difference.low, difference.high)
    test_values = (None, None, None) if compared is None else (compared.p, compared.p_adjusted, str(compared.verdict))
    return {f"{prefix}_{part}": value for part, value in zip(PARTS, (*values, *test_values), strict=True)}


def tuned_grids(shared: Results, own: Results | None) -> Iterator[Grid]:
    """Yield one grid per headline metric with both differences."""
    columns = [Column("arm", numeric=False)]
    columns += [Column(side, "Δ [95%] (n)") for side in ("shared recipe", "own recipe")]
    columns += [Column(side, "verdict", numeric=False) for side in ("shared recipe", "own recipe")]
    for metric in shared.headlines:
        rows = [
            [arm.name, *_cells(shared, own, arm.name, metric)]
            for arm in shared.arms
            if arm.name != BASELINE and _compared(shared, arm.name, metric)[0].n
        ]
        if rows:
            title = f"Differences in {metric.title}: at the shared recipe, and with every arm at its own recipe"
            yield grid(TUNED, title, columns, rows)


def _cells(shared: Results, own: Results | None, arm: str, metric: Metric) -> list[str | Cell]:
    sides = [_compared(results, arm, metric) for results in (shared, own)]
    verdicts = (NOTHING if compared is None else verdict_text(compared) for _, compared in sides)
    return [*(interval_cell(difference, shared.decimals(metric)) for difference, _ in sides), *verdicts]


def tuned_notes(own: Results | None) -> Iterator[str]:
    """Yield the correction of the verdicts at own recipes."""
    if own is None:
        return
    tested = sum(own.comparison(arm, Metric(metric)).p is not None for arm, metric in own.families[0])
    yield (
        "Own recipe: each arm at the recipe that tuning selected for it, compared with the baseline at its own "
        f"recipe. These verdicts are a separate family of {counted(tested, 'test')}, corrected as in the main table; "
        "the verdicts at the shared recipe are corrected independently of them."
    )


def _content(evidence: Evidence) -> Content:
    shared, own = evidence.results, evidence.own_recipes
    notes, grids, tables = tuple(tuned_notes(own)), tuple(tuned_grids(shared, own)), tuple(tuned_tables(shared, own))
    if not grids:
        return Content(tables, notes_on_results=notes)
    return Content(tables, (*grids[:-1], with_notes(grids[-1], notes)))


SECTION = Section(TUNED, _content, lambda evidence: evidence.results.snapshot.tuning is not None)

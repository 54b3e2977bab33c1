"""A report: one finding with its evidence, the same numbers for every format."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from reports.attention import AttentionMaps, attention_grids, attention_maps_of, attention_notes, attention_table
from reports.audit import audit_table
from reports.axis_curve import AxisCurve, axis_curve_of
from reports.candidates import SEARCH, candidates_table, importance_table
from reports.claims import claims_grid, claims_table
from reports.details import grids_of
from reports.divergence import divergence_grid, divergence_table
from reports.factors import factors_grids, factors_table
from reports.figure_data import Curves, Forest, curves_of, forest_of
from reports.finding import finding_of
from reports.footer import Notes, footer_of, legend_of, orderings_note
from reports.forecast import (
    LOSS,
    Outlook,
    crossings_table,
    drawn_ahead,
    forecast_grids,
    forecast_note,
    forecast_table,
    outlook_of,
)
from reports.grids import Grid
from reports.isolated import isolated_pairs, isolated_table
from reports.judgements import effects_grid, effects_table
from reports.ladder import Ladder, ladder_of
from reports.matched import has_matches, matched_table
from reports.noise import noise_grid, noise_table
from reports.orderings import orderings_table
from reports.overview import overview
from reports.pareto import Pareto, pareto_of, pareto_table, table_pareto_of
from reports.results import Results, results_of
from reports.setting import setting_of
from reports.table import Table, reference_table, results_table
from reports.text import printable
from reports.values import PrimaryMetric
from runners.standing import Snapshot
from tasks.downstream import find_task


@dataclass(frozen=True)
class Report:
    """What was learned. Tables are data as recorded; grids, notes and sentences are text that is safe to show."""

    experiment: str
    scale: str
    question: str
    finding: str
    paper: str
    """What the paper states, with its source; empty where the experiment names none."""
    tables: tuple[Table, ...]
    grids: tuple[Grid, ...]
    curves: Curves | None
    forest: Forest | None
    notes: tuple[str, ...]
    """What the signs in the tables mean."""
    footer: Notes
    """Under which conditions the numbers were measured."""
    pareto: Pareto | None = None
    """Results against costs."""
    axis: AxisCurve | None = None
    """Results along a number that arms differ in."""
    ladder: Ladder | None = None
    attention: AttentionMaps | None = None


def primary_metric(task: str) -> str:
    """Return the metric that speaks for a task."""
    return find_task(task).metrics[0]


def build(
    snapshot: Snapshot, importance: Mapping[str, float] | None = None, primary: PrimaryMetric = primary_metric
) -> Report:
    """Return the report of a snapshot; `importance` is each axis's share of a search's variance, where known."""
    setting = setting_of(snapshot.document)
    results = results_of(snapshot, setting, primary)
    pairs = isolated_pairs(results.arms)
    outlook = outlook_of(results)
    tables = (*_tables(results, importance, primary), forecast_table(outlook), crossings_table(outlook))
    return Report(
        experiment=printable(snapshot.experiment),
        scale=printable(snapshot.scale),
        question=printable(setting.question),
        finding=printable(finding_of(results, pairs)),
        paper=printable(f"{setting.paper.statement} ({setting.paper.source})") if setting.paper else "",
        tables=tables,
        grids=(*_grids(results, tables), *forecast_grids(outlook, results.decimals(LOSS))),
        curves=curves_of(results, drawn_ahead(outlook)),
        forest=forest_of(results),
        notes=tuple(map(printable, (*_notes(results, tables), *_forecast_notes(outlook)))),
        footer=tuple((term, printable(text)) for term, text in footer_of(results)),
        pareto=pareto_of(results) if setting.design.kind == SEARCH else table_pareto_of(results),
        axis=None if setting.design.kind == SEARCH else axis_curve_of(results),
        ladder=ladder_of(results),
        attention=attention_maps_of(results),
    )


def _tables(results: Results, importance: Mapping[str, float] | None, primary: PrimaryMetric) -> Iterator[Table]:
    yield results_table(results)
    yield effects_table(results)
    yield claims_table(results)
    yield divergence_table(results)
    yield noise_table(results)
    if results.setting.design.kind == SEARCH:
        candidates = candidates_table(results)
        yield candidates
        if importance is not None:
            yield importance_table(importance, sum(row["rank"] is not None for row in candidates.rows))
        yield from (found for found in (audit_table(results), pareto_table(pareto_of(results))) if found.rows)
    else:
        yield isolated_table(results, isolated_pairs(results.arms))
        yield factors_table(results)
    if results.descriptions:
        yield attention_table(results)
    if has_matches(results):
        yield matched_table(results)
    yield orderings_table(results)
    yield reference_table(results.snapshot.shared, primary)


def _grids(results: Results, tables: tuple[Table, ...]) -> Iterator[Grid]:
    details = tuple(grids_of(tables, {metric.name: results.decimals(metric) for metric in results.headlines}))
    first = [grid for grid in details if grid.name == "candidates"]
    yield from first
    if results.arms:
        yield overview(results)
    yield from attention_grids(results)
    yield from _statistics(results, tables)
    yield from (grid for grid in details if grid not in first)


def _statistics(results: Results, tables: tuple[Table, ...]) -> Iterator[Grid]:
    by_name = {table.name: table for table in tables}
    yield from effects_grid(results)
    yield from claims_grid(results, by_name["claims"])
    yield from divergence_grid(results, by_name["divergence"])
    if "factors" in by_name:
        yield from factors_grids(results, by_name["factors"])
    yield from noise_grid(results, by_name["noise"])


def _forecast_notes(outlook: Outlook | None) -> Iterator[str]:
    if outlook is not None and outlook.arms:
        yield forecast_note(outlook)


def _notes(results: Results, tables: tuple[Table, ...]) -> Iterator[str]:
    yield from legend_of(results)
    yield from attention_notes(results)
    if results.setting.design.kind == SEARCH and len(results.arms) > 1:
        yield f"The best of {len(results.arms)} candidates was chosen by the loss shown here: its Δ flatters it."
    if any(table.name == "orderings" and table.rows for table in tables):
        yield orderings_note(results.headlines)

"""A report: one finding with its evidence, the same numbers for every format."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from configuration.metrics import PrimaryMetric, primary_metric
from ledger.snapshot import Snapshot
from reports.by_recipe import at_own_recipes, at_shared_recipe
from reports.experiment_view import setting_of
from reports.figures.axis_curve import AxisCurve, axis_curve_of
from reports.figures.figure_data import Curves, Forest, curves_of, forest_of
from reports.figures.ladder import Ladder, ladder_of
from reports.figures.pareto import Pareto, pareto_of, pareto_table, table_pareto_of
from reports.finding import finding_of
from reports.footer import Notes, footer_of, intervals_note, scale_of
from reports.legend import RESULTS, Below, Legend, annotated, legend_of
from reports.made_with import made_with_of
from reports.results import Results, results_of
from reports.sanitise import printable
from reports.sections.attention import AttentionMaps, attention_grids, attention_maps_of, attention_table
from reports.sections.audit import audit_table
from reports.sections.candidates import SEARCH, candidates_table, importance_table
from reports.sections.claims import claims_grid, claims_table
from reports.sections.contamination import leakage_table
from reports.sections.details import grids_of
from reports.sections.differences_from_paper import DEPARTURES, departures_grid, departures_table
from reports.sections.divergence import divergence_grid, divergence_table
from reports.sections.factors import factors_grids, factors_table
from reports.sections.forecast import (
    LOSS,
    Outlook,
    crossings_table,
    drawn_ahead,
    forecast_grids,
    forecast_note,
    forecast_table,
    outlook_of,
)
from reports.sections.grids import Grid
from reports.sections.latency import latency_grids, latency_tables
from reports.sections.latency_finding import latency_conditions, latency_finding
from reports.sections.main_table import overview
from reports.sections.matched_budget import has_matches, matched_table
from reports.sections.paper_comparison import BESIDE, beside_grid, beside_table
from reports.sections.searched_settings import settings_table
from reports.sections.single_change_effects import isolated_pairs, isolated_table
from reports.sections.table import Table, reference_table, results_table
from reports.sections.truncation import truncation_table
from reports.sections.tuned_effects import TUNED, tuned_finding, tuned_grids, tuned_note, tuned_tables
from reports.sections.tuning_trials import tuning_footer, tuning_grids, tuning_notes, tuning_table
from reports.sections.variance import noise_grid, noise_table
from reports.sections.verdicts import effects_grid, effects_table
from reports.statistics.latency import LatencyResults, is_latency, latency_results_of


@dataclass(frozen=True)
class Report:
    """What was learned. Tables are data as recorded; grids, notes and sentences are text that is safe to show."""

    experiment: str
    scale: str
    """Empty where the experiment file has no scales."""
    question: str
    finding: str
    paper: str
    """What the paper states, with its source; empty where the experiment names none."""
    tables: tuple[Table, ...]
    grids: tuple[Grid, ...]
    curves: Curves | None
    forest: Forest | None
    footer: Notes
    """Under which conditions the numbers were measured."""
    pareto: Pareto | None = None
    """Results against costs."""
    axis: AxisCurve | None = None
    """Results along a number that arms differ in."""
    ladder: Ladder | None = None
    attention: AttentionMaps | None = None
    latency: LatencyResults | None = None
    """Times by length, of a latency experiment."""
    made_with: Notes = ()
    """The command, the machine and the libraries behind the numbers, as far as the ledger has them."""
    more: str = ""
    """Of a brief report: what it leaves out, and the command that shows it."""

    @property
    def title(self) -> str:
        """The experiment with its scale."""
        return f"{self.experiment} ({self.scale})" if self.scale else self.experiment

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes of all tables, in the tables' order."""
        return tuple(note for grid in self.grids for note in grid.every_note)


def build(
    snapshot: Snapshot, importance: Mapping[str, float] | None = None, primary: PrimaryMetric = primary_metric
) -> Report:
    """Return the report of a snapshot; `importance` is each axis's share of a search's variance, where known."""
    if is_latency(snapshot):
        return _latency_report(snapshot, latency_results_of(snapshot))
    setting = setting_of(snapshot.document)
    results = results_of(at_shared_recipe(snapshot), setting, primary)
    own = None if (tuned := at_own_recipes(snapshot)) is None else results_of(tuned, setting, primary)
    pairs = isolated_pairs(results.arms, setting.baseline)
    outlook = outlook_of(results)
    tables = (
        *_tables(results, importance, primary),
        *_tuned_tables(results, own),
        forecast_table(outlook),
        crossings_table(outlook),
    )
    grids = annotated(
        (*_grids(results, tables), *_tuned_grids(results, own), *forecast_grids(outlook, results.decimals(LOSS))),
        (*legend_of(results, tables), *_further_legend(results, own, outlook)),
    )
    return Report(
        experiment=printable(snapshot.experiment),
        scale=printable(scale_of(snapshot.scale)),
        question=printable(setting.question),
        finding=printable(finding_of(results, pairs) + tuned_finding(own)),
        paper=printable(f"{setting.paper.statement} ({setting.paper.source})") if setting.paper else "",
        tables=tables,
        grids=grids,
        curves=curves_of(results, drawn_ahead(outlook)),
        forest=forest_of(results),
        footer=tuple((term, printable(text)) for term, text in (*_footer(results), *intervals_note(grids))),
        pareto=pareto_of(results) if setting.design.kind == SEARCH else table_pareto_of(results),
        axis=None if setting.design.kind == SEARCH else axis_curve_of(results),
        ladder=ladder_of(results),
        attention=attention_maps_of(results),
        made_with=made_with_of(snapshot),
    )


def _latency_report(snapshot: Snapshot, results: LatencyResults) -> Report:
    """Return the report of what was timed: the same shape, none of the sections of training."""
    experiment = results.experiment
    scale, paper = scale_of(snapshot.scale), experiment.paper
    conditions = (("Scale", scale or "none declared"), *latency_conditions(results))
    return Report(
        experiment=printable(experiment.experiment),
        scale=printable(scale),
        question=printable(experiment.question),
        finding=printable(latency_finding(results)),
        paper=printable(f"{paper.statement} ({paper.source})") if paper else "",
        tables=tuple(latency_tables(results)),
        grids=tuple(latency_grids(results)),
        curves=None,
        forest=None,
        footer=tuple((term, printable(text)) for term, text in conditions),
        latency=results if results.measured else None,
        made_with=made_with_of(snapshot),
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
        yield isolated_table(results, isolated_pairs(results.arms, results.setting.baseline))
        yield factors_table(results)
    if results.descriptions:
        yield attention_table(results)
    if has_matches(results):
        yield matched_table(results)
    yield from (found for found in (beside_table(results, primary), departures_table(results)) if found.rows)
    yield reference_table(results.snapshot.shared, primary)
    shared = results.snapshot.shared
    added = (truncation_table(shared), leakage_table(shared), settings_table(results, primary))
    yield from (found for found in added if found.rows)


def _grids(results: Results, tables: tuple[Table, ...]) -> Iterator[Grid]:
    details = tuple(grids_of(tables, {metric.name: results.decimals(metric) for metric in results.headlines}))
    first = [grid for grid in details if grid.name == "candidates"]
    yield from first
    if results.arms:
        yield overview(results)
    yield from attention_grids(results)
    yield from _statistics(results, tables)
    yield from (grid for grid in details if grid not in first)
    by_name = {table.name: table for table in tables}
    if BESIDE in by_name:
        yield from beside_grid(results, by_name[BESIDE])
    if DEPARTURES in by_name:
        yield from departures_grid(by_name[DEPARTURES])


def _statistics(results: Results, tables: tuple[Table, ...]) -> Iterator[Grid]:
    by_name = {table.name: table for table in tables}
    if "factors" in by_name:
        yield from factors_grids(results, by_name["factors"])
    yield from effects_grid(results)
    yield from claims_grid(results, by_name["claims"])
    yield from divergence_grid(results, by_name["divergence"])
    yield from noise_grid(results, by_name["noise"])


def _tuned_tables(results: Results, own: Results | None) -> Iterator[Table]:
    if results.snapshot.tuning is not None:
        yield from tuned_tables(results, own)
        yield tuning_table(results.snapshot.tuning)


def _tuned_grids(results: Results, own: Results | None) -> Iterator[Grid]:
    if results.snapshot.tuning is not None:
        yield from tuned_grids(results, own)
        yield from tuning_grids(results.snapshot.tuning)


def _footer(results: Results) -> Notes:
    tuning = results.snapshot.tuning
    return footer_of(results) if tuning is None else (*footer_of(results), tuning_footer(tuning))


def _further_legend(results: Results, own: Results | None, outlook: Outlook | None) -> Legend:
    if results.snapshot.tuning is not None:
        yield Below(["choices", RESULTS], tuning_notes(results.snapshot.tuning))
        yield Below([TUNED, RESULTS], tuned_note(own))
    if outlook is not None and outlook.arms:
        yield Below(["forecast"], [forecast_note(outlook)])

"""A report: one finding with its evidence, assembled from independent sections and figures."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from pydantic import BaseModel

from reports.by_recipe import at_own_recipes, at_shared_recipe, examples_at_own_recipes
from reports.document import Report
from reports.figures import FIGURES, LATENCY_FIGURES
from reports.finding import finding_of
from reports.footer import footer_of, intervals_note, scale_of
from reports.grid import Grid, with_notes
from reports.made_with import made_with_of
from reports.sanitise import printable
from reports.section import Content, Section
from reports.sections import (
    attention,
    audit,
    candidates,
    claims,
    contamination,
    differences_from_paper,
    divergence,
    factors,
    frozen_tasks,
    gap_by_budget,
    generated_texts,
    hurdle_savings,
    importance,
    latency,
    lineage,
    main_table,
    matched_budget,
    paper_comparison,
    pareto,
    perplexity,
    pruning,
    rare_words,
    reference,
    searched_settings,
    shapley,
    single_change_effects,
    task_pilot,
    truncation,
    tuned_effects,
    tuning_trials,
    variance,
    verdicts,
)
from reports.statistics.evidence import Evidence
from reports.statistics.latency import is_latency, latency_evidence_of
from reports.statistics.results import NO_EXAMPLES, results_of
from reports.statistics.trial_values import latency_values, trial_values
from reports.summary import summary_of
from reports.table import Table
from steeplechase.configuration.metrics import PrimaryMetric
from steeplechase.configuration.yaml.writing import experiment_text
from steeplechase.ledger.example_tables import ExampleTable
from steeplechase.ledger.snapshot import Snapshot

E = TypeVar("E")

SECTIONS: tuple[Section[Evidence], ...] = (
    candidates.SECTION,
    main_table.SECTION,
    pruning.SECTION,
    rare_words.SECTION,
    perplexity.SECTION,
    generated_texts.SECTION,
    attention.SECTION,
    factors.SECTION,
    shapley.SECTION,
    verdicts.SECTION,
    claims.SECTION,
    divergence.SECTION,
    gap_by_budget.SECTION,
    variance.SECTION,
    single_change_effects.SECTION,
    importance.SECTION,
    lineage.SECTION,
    hurdle_savings.SECTION,
    audit.SECTION,
    pareto.SECTION,
    matched_budget.SECTION,
    reference.SECTION,
    task_pilot.SECTION,
    frozen_tasks.SECTION,
    paper_comparison.SECTION,
    differences_from_paper.SECTION,
    truncation.SECTION,
    contamination.SECTION,
    searched_settings.SECTION,
    tuned_effects.SECTION,
    tuning_trials.SECTION,
)
"""Sections of training experiments, in display order."""
LISTED_FIRST = (
    *(
        "results",
        "effects",
        "claims",
        "divergence",
        "noise",
        "candidates",
        "importance",
        "lineage",
        "audit",
        "pareto",
    ),
    *("isolated", "factors", "attention_diagonal", "matched", "paper", "departures", "reference"),
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
    return _latency_report(snapshot) if is_latency(snapshot) else _training_report(snapshot, primary, example_tables)


def _training_report(
    snapshot: Snapshot, primary: PrimaryMetric | None, example_tables: Mapping[str, ExampleTable]
) -> Report:
    own = at_own_recipes(snapshot)
    results = results_of(at_shared_recipe(snapshot), primary, example_tables)
    own_tables = examples_at_own_recipes(snapshot, example_tables)
    evidence = Evidence(results, None if own is None else results_of(own, primary, own_tables))
    contents = _contents(SECTIONS, evidence)
    grids = tuple(_with_notes_on_results(contents))
    paper, pictures = results.experiment.paper, (figure.picture_of(evidence) for figure in FIGURES)
    return Report(
        experiment=printable(snapshot.experiment),
        scale=printable(scale_of(snapshot.scale)),
        question=printable(results.experiment.question),
        finding=printable(finding_of(evidence)),
        paper=printable(f"{paper.statement} ({paper.source})") if paper else "",
        tables=_tables(contents),
        grids=grids,
        footer=tuple((term, printable(text)) for term, text in (*footer_of(results), *intervals_note(grids))),
        trials=trial_values(results),
        declaration=_declaration(snapshot, results.experiment),
        pictures=tuple(picture for picture in pictures if picture is not None),
        made_with=made_with_of(snapshot),
        summary=summary_of(results),
    )


def _latency_report(snapshot: Snapshot) -> Report:
    evidence = latency_evidence_of(snapshot)
    experiment, contents = evidence.experiment, _contents(latency.SECTIONS, evidence)
    scale, paper = scale_of(snapshot.scale), experiment.paper
    conditions = (("Scale", scale or "none declared"), *latency.conditions(evidence))
    pictures = (figure.picture_of(evidence) for figure in LATENCY_FIGURES)
    return Report(
        experiment=printable(experiment.experiment),
        scale=printable(scale),
        question=printable(experiment.question),
        finding=printable(latency.finding(evidence)),
        paper=printable(f"{paper.statement} ({paper.source})") if paper else "",
        tables=_tables(contents),
        grids=tuple(_with_notes_on_results(contents)),
        footer=tuple((term, printable(text)) for term, text in conditions),
        trials=latency_values(evidence),
        declaration=_declaration(snapshot, experiment),
        pictures=tuple(picture for picture in pictures if picture is not None),
        made_with=made_with_of(snapshot),
    )


def _declaration(snapshot: Snapshot, experiment: BaseModel) -> str:
    scale = scale_of(snapshot.scale)
    resolved = f"resolved at scale {scale}" if scale else "as it was run"
    remark = f"{snapshot.experiment}, {resolved}: what differs from the defaults"
    return experiment_text(experiment, printable(remark))


def _contents(sections: Iterable[Section[E]], evidence: E) -> tuple[Content, ...]:
    return tuple(section.content(evidence) for section in sections if section.applies(evidence))


def _tables(contents: Iterable[Content]) -> tuple[Table, ...]:
    return tuple(sorted((table for content in contents for table in content.tables), key=_listed_at))


def _listed_at(table: Table) -> int:
    return LISTED_FIRST.index(table.name) if table.name in LISTED_FIRST else len(LISTED_FIRST)


def _with_notes_on_results(contents: Sequence[Content]) -> Iterator[Grid]:
    """Yield the grids; the main table also has the notes of sections without a grid."""
    notes = [note for content in contents for note in content.notes_on_results]
    for grid in (grid for content in contents for grid in content.grids):
        yield with_notes(grid, notes) if grid.name == main_table.SECTION.name else grid

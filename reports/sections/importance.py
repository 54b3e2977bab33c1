"""Importance of each axis of a search: its share of the variance of the first objective at the first hurdle."""

from collections.abc import Iterator

from reports.section import Content, Section, decimal
from reports.sections.candidates import candidates_table
from reports.statistics.metrics import Metric
from reports.statistics.objectives import Objectives
from reports.statistics.results import Results
from reports.table import Column, Row, Table, shown, words
from steeplechase.configuration.metrics import SCORE

MEASURED = (
    "Share of variance: what an axis explains alone, over the sum of all axes, by functional analysis of variance "
    "over a random forest (Optuna's fANOVA). Shares have a sum of 1 whatever the axes explain together, and no "
    "interval. Candidates: those measured, with the baseline, which has no part in the shares where it is beside the "
    "space."
)
COLUMNS = (words("axis", "path"), Column("share of variance", read=decimal("importance", 2)), Column("candidates"))


def _content(results: Results) -> Content:
    measured = sum(row["tokens"] is not None for row in results.once(candidates_table).rows)
    ranked = sorted(results.snapshot.importance.items(), key=lambda item: (-item[1], item[0]))
    rows: Iterator[Row] = ({"path": path, "importance": share, "candidates": measured} for path, share in ranked)
    shares = Table.of("importance", rows)
    return Content((shares,), shown(shares.name, _title(results), COLUMNS, shares.rows, (MEASURED,)))


def _title(results: Results) -> str:
    """Return of what the shares are: a score that no probe measures at a hurdle is that at the end.

    Older ledgers, whose finalists do not say what they were chosen by, have shares of the declared objective.
    """
    objectives, final = results.once(Objectives), results.snapshot.final
    of_before = final is not None and not final.plan.ranked_by
    objective = Metric(objectives.declared[0]) if of_before else objectives.first
    at_end = objective.name == SCORE and results.experiment.pretraining.hurdle.rung_probe is None
    value = "score of the probe" if objective.name == SCORE and not at_end else objective.title
    where = "at the end of the budget" if at_end else "at the first hurdle"
    return f"Importance: share of the variance of the {value} {where}"


SECTION = Section("importance", _content, lambda results: results.is_search and bool(results.snapshot.importance))

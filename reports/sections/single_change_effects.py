"""Single-change effects: pairs of arms that differ in one factor only.

Pairs of the baseline and an arm with one change are left out: the main table has them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from configuration.arm import Arm
from foundation.schema import JsonValue
from reports.grid import Cell, Column, Grid, grid, with_notes
from reports.section import Content, Section
from reports.sections.difference_cells import difference_cell
from reports.statistics.evidence import Evidence
from reports.statistics.levels import fields_changed
from reports.statistics.metrics import Metric
from reports.statistics.results import Results
from reports.table import Row, Table, interval, table
from search_space.candidate import Candidate

Changes = Mapping[str, JsonValue]


@dataclass(frozen=True)
class IsolatedPair:
    """Two arms: `arm` has a change at `path` that `reference` lacks, and all other fields are equal."""

    arm: str
    reference: str
    path: str
    """The factor's name in the design, else the field that differs: `convolution.kernel_size`."""


def isolated_pairs(arms: Sequence[Arm], baseline: Candidate) -> tuple[IsolatedPair, ...]:
    """Return every pair in the order of the arms; the reference is never the baseline."""
    fields = {arm.name: fields_changed(arm.changes, baseline) for arm in arms}
    return tuple(_pairs(arms, fields))


def _pairs(arms: Sequence[Arm], fields: Mapping[str, Changes]) -> Iterator[IsolatedPair]:
    for arm in arms:
        for reference in arms:
            if not reference.changes:
                continue
            factors, field = _factors(arm, reference), _extra(fields[arm.name], fields[reference.name])
            option = None if len(factors) > 1 else _extra(arm.changes, reference.changes)
            if field is not None or option is not None:
                yield IsolatedPair(
                    arm.name, reference.name, factors[0] if len(factors) == 1 else field or option or ""
                )


def _extra(changes: Changes, reference: Changes) -> str | None:
    """Return the only path that `changes` has and `reference` lacks; None if other fields differ."""
    extra = changes.keys() - reference.keys()
    more = len(changes) == len(reference) + 1
    if len(extra) != 1 or not more or any(changes[path] != reference[path] for path in reference):
        return None
    return next(iter(extra))


def _factors(arm: Arm, reference: Arm) -> list[str]:
    """Return the factors of the design in which two arms differ; none for arms without levels."""
    if not (arm.levels and reference.levels):
        return []
    names = dict.fromkeys((*arm.levels, *reference.levels))
    return [name for name in names if arm.levels.get(name) != reference.levels.get(name)]


def isolated_table(results: Results, pairs: tuple[IsolatedPair, ...]) -> Table:
    """Return the difference of every pair on every metric."""
    return table("isolated", "arm reference path metric n delta low high", _rows(results, pairs))


def _rows(results: Results, pairs: tuple[IsolatedPair, ...]) -> Iterator[Row]:
    for pair in pairs:
        for metric in results.metrics:
            difference = results.difference(pair.arm, pair.reference, metric)
            yield {
                "arm": pair.arm,
                "reference": pair.reference,
                "path": pair.path,
                "metric": metric.name,
                "n": difference.n,
                **interval(difference),
            }


def isolated_grids(isolated: Table, decimals: Mapping[str, int]) -> Iterator[Grid]:
    """Yield one grid per path, with the path in its title."""
    columns = [Column("arms", numeric=False), Column("metric", numeric=False), Column("Δ [95%] (n)")]
    for path in dict.fromkeys(row["path"] for row in isolated.rows):
        rows = [row for row in isolated.rows if row["path"] == path and row["metric"] in decimals]
        cells = (_pair_cells(row, decimals) for row in rows)
        title = f"Effect of {path} alone: pairs of arms with all other fields equal"
        yield grid(isolated.name, title, columns, cells)


def _pair_cells(row: Row, decimals: Mapping[str, int]) -> list[str | Cell]:
    metric = Metric(str(row["metric"]))
    return [f"{row['arm']} − {row['reference']}", metric.title, difference_cell(row, decimals[metric.name])]


def _content(evidence: Evidence) -> Content:
    results = evidence.results
    isolated = isolated_table(results, isolated_pairs(results.arms, results.experiment.baseline))
    grids = [*isolated_grids(isolated, {metric.name: results.decimals(metric) for metric in results.headlines})]
    note = "Differences of two arms, without correction for multiple comparisons."
    return Content((isolated,), (*grids[:-1], *(with_notes(last, [note]) for last in grids[-1:])))


SECTION = Section("isolated", _content, lambda evidence: not evidence.results.is_search)

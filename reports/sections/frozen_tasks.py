"""Tasks on the frozen encoder in detail: minimal pairs by phenomenon, linear probes by layer."""

from collections.abc import Callable, Iterator

from reports.columns import spread
from reports.grid import Column, Grid, shown, words
from reports.number_format import NOTHING
from reports.section import Content, Section
from reports.statistics.evidence import Evidence
from reports.statistics.results import Results
from reports.table import Row, Table, spread_columns
from steeplechase.ledger.records import Record
from steeplechase.ledger.stage_results import LinearProbeResult, MinimalPairsResult, finite

DECIMALS = 1
PHENOMENA, LAYERS = "phenomena", "probe_layers"
TITLES = {PHENOMENA: "Minimal pairs by phenomenon: accuracy", LAYERS: "Linear probes by layer, 0 the embeddings"}


def _tables(results: Results) -> Iterator[Table]:
    """Yield accuracies by phenomenon and scores by layer, one row per task, phenomenon or layer, and arm."""
    samples: dict[str, dict[tuple[str, str, str], list[float]]] = {PHENOMENA: {}, LAYERS: {}}
    for arm in results.arms:
        for record in (record for history in results.trials[arm.name] for record in history.records):
            for name, task, part, value in _details(record):
                samples[name].setdefault((task, part, arm.name), []).append(value)
    yield from (Table.of(name, _rows(found)) for name, found in samples.items())


def _details(record: Record) -> Iterator[tuple[str, str, str, float]]:
    """Yield the table, the task, the phenomenon or the layer, and the value."""
    result = record.result
    if isinstance(result, MinimalPairsResult):
        found = [(PHENOMENA, result.task, group, finite(value)) for group, value in sorted(result.groups.items())]
    elif isinstance(result, LinearProbeResult):
        found = [(LAYERS, result.task, str(layer), finite(value)) for layer, value in enumerate(result.layers)]
    else:
        return
    yield from ((name, task, part, value) for name, task, part, value in found if value is not None)


def _rows(samples: dict[tuple[str, str, str], list[float]]) -> Iterator[Row]:
    for task, part in dict.fromkeys((task, part) for task, part, _ in samples):
        for key, values in samples.items():
            if key[:2] == (task, part):
                yield {"task": task, "part": part, "arm": key[2], **spread_columns(values)}


def _grids(found: Table) -> tuple[Grid, ...]:
    """Return the table with a column per arm; none where it is empty."""
    by_part: dict[tuple[object, object], dict[str, Row]] = {}
    for row in found.rows:
        by_part.setdefault((row["task"], row["part"]), {})[str(row["arm"])] = row

    def of_arm(arm: str) -> Callable[[dict[str, Row]], str]:
        read = spread(DECIMALS)
        return lambda by_arm: read(by_arm[arm]) if arm in by_arm else NOTHING

    def first(name: str) -> Callable[[dict[str, Row]], str]:
        return lambda by_arm: str(next(iter(by_arm.values()))[name])

    arms = dict.fromkeys(str(row["arm"]) for row in found.rows)
    part = "phenomenon" if found.name == PHENOMENA else "layer"
    columns = [words("task", first("task")), words(part, first("part"))]
    columns += [Column(arm, read=of_arm(arm)) for arm in arms]
    return shown(found.name, TITLES[found.name], columns, by_part.values())


def _content(evidence: Evidence) -> Content:
    tables = [table for table in _tables(evidence.results) if table.rows]
    return Content(tuple(tables), tuple(grid for table in tables for grid in _grids(table)))


SECTION = Section("frozen_tasks", _content)

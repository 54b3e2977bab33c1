"""Tasks on the frozen encoder in detail: minimal pairs by phenomenon, linear probes by layer."""

from collections.abc import Iterator

from reports.section import Content, Section, grouped, shared, spread, where, with_rows
from reports.statistics.results import Results
from reports.table import Column, Grid, Row, Table, shown, spread_columns
from steeplechase.ledger.records import Record
from steeplechase.ledger.stage_results import LinearProbeResult, MinimalPairsResult, finite

DECIMALS = 1
PHENOMENA, LAYERS = "phenomena", "probe_layers"
SHOWN = {
    PHENOMENA: ("phenomenon", "Minimal pairs by phenomenon: accuracy"),
    LAYERS: ("layer", "Linear probes by layer, 0 the embeddings"),
}
"""By table what its parts are, and its title."""


def _rows(results: Results, name: str) -> Iterator[Row]:
    """Yield accuracies by phenomenon or scores by layer, one row per task, phenomenon or layer, and arm."""
    samples: dict[tuple[str, str], dict[str, list[float]]] = {}
    for arm in results.arms:
        for record in (record for history in results.trials[arm.name] for record in history.records):
            for place, value in _details(record, name):
                samples.setdefault(place, {}).setdefault(arm.name, []).append(value)
    for (task, part), by_arm in samples.items():
        for arm_name, values in by_arm.items():
            yield {"task": task, "part": part, "arm": arm_name, **spread_columns(values)}


def _details(record: Record, name: str) -> Iterator[tuple[tuple[str, str], float]]:
    """Yield the task with the phenomenon or the layer, and the value; nothing of results of another table."""
    result, parts = record.result, dict[str, float | None]()
    if isinstance(result, MinimalPairsResult) and name == PHENOMENA:
        parts = {group: finite(value) for group, value in sorted(result.groups.items())}
    elif isinstance(result, LinearProbeResult) and name == LAYERS:
        parts = {str(layer): finite(value) for layer, value in enumerate(result.layers)}
    for part, value in parts.items():
        if value is not None:
            assert isinstance(result, MinimalPairsResult | LinearProbeResult)
            yield (result.task, part), value


def _content(results: Results) -> Content:
    tables, grids = with_rows(*(Table.of(name, _rows(results, name)) for name in SHOWN)), list[Grid]()
    for found in tables:
        part, title = SHOWN[found.name]
        arms = dict.fromkeys(str(row["arm"]) for row in found.rows)
        columns = [shared("task"), shared(part, "part")]
        columns += [Column(arm, read=where("arm", arm, spread(DECIMALS))) for arm in arms]
        grids += shown(found.name, title, columns, grouped(found.rows, "task", "part"))
    return Content(tables, tuple(grids))


SECTION = Section("frozen_tasks", _content)

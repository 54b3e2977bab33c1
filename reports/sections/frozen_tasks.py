"""Tasks on the frozen encoder in detail: minimal pairs by phenomenon, linear probes by layer."""

from collections.abc import Iterable, Iterator
from statistics import fmean, stdev

from reports.grid import Column, Grid, grid
from reports.number_format import NOTHING, UNKNOWN, fixed
from reports.section import Content, Section, with_rows
from reports.statistics.evidence import Evidence
from reports.statistics.results import Results
from reports.table import Row, Table, number, table
from steeplechase.ledger.records import Record
from steeplechase.ledger.stage_results import LinearProbeResult, MinimalPairsResult, finite

DECIMALS = 1
PHENOMENA, LAYERS = "phenomena", "probe_layers"
TITLES = {PHENOMENA: "Minimal pairs by phenomenon: accuracy", LAYERS: "Linear probes by layer, 0 the embeddings"}


def frozen_tables(results: Results) -> tuple[Table, Table]:
    """Return accuracies by phenomenon and scores by layer, one row per task, phenomenon or layer, and arm."""
    samples: dict[str, dict[tuple[str, str, str], list[float]]] = {PHENOMENA: {}, LAYERS: {}}
    for arm in results.arms:
        for record in (record for history in results.trials[arm.name] for record in history.records):
            for name, task, part, value in _details(record):
                samples[name].setdefault((task, part, arm.name), []).append(value)
    phenomena, layers = (table(name, "task part arm n mean sd", _rows(samples[name])) for name in (PHENOMENA, LAYERS))
    return phenomena, layers


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
                sd = stdev(values) if len(values) > 1 else None
                yield {
                    "task": task,
                    "part": part,
                    "arm": key[2],
                    "n": len(values),
                    "mean": fmean(values),
                    "sd": sd,
                }


def frozen_grids(tables: Iterable[Table]) -> Iterator[Grid]:
    """Yield each table with a column per arm; none where it is empty."""
    for found in tables:
        if not found.rows:
            continue
        arms = list(dict.fromkeys(str(row["arm"]) for row in found.rows))
        cells: dict[tuple[str, str], dict[str, str]] = {}
        for row in found.rows:
            cells.setdefault((str(row["task"]), str(row["part"])), {})[str(row["arm"])] = _text(row)
        lines = [[*place, *(by_arm.get(arm, NOTHING) for arm in arms)] for place, by_arm in cells.items()]
        title = "phenomenon" if found.name == PHENOMENA else "layer"
        columns = [Column("task", numeric=False), Column(title, numeric=False), *map(Column, arms)]
        yield grid(found.name, TITLES[found.name], columns, lines)


def _text(row: Row) -> str:
    mean, sd = number(row["mean"]), number(row["sd"])
    spread = UNKNOWN if sd is None else fixed(sd, DECIMALS)
    return f"{fixed(mean or 0.0, DECIMALS)} ± {spread} ({row['n']})"


def _content(evidence: Evidence) -> Content:
    tables = frozen_tables(evidence.results)
    return Content(with_rows(*tables), tuple(frozen_grids(tables)))


SECTION = Section("frozen_tasks", _content)

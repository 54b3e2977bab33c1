"""What pruning left of an encoder: its sizes by arm and seed. SchuBERT: Khetan and Karnin 2020, arXiv 2005.06628."""

from collections.abc import Iterator, Mapping

from reports.grid import Column, Grid, grid
from reports.number_format import scientific
from reports.section import Content, Section, with_rows
from reports.statistics.arm_costs import pruned_costs, remaining_architectures
from reports.statistics.evidence import Evidence
from reports.statistics.pareto import COST_TITLES, COSTS
from reports.statistics.results import Results
from reports.table import Row, Table, number, table
from search_space.architecture import Architecture
from search_space.pruning import Dimension, sizes_by_layer
from steeplechase.foundation.schema import JsonValue

PRUNED = "pruned_architectures"
TITLE = (
    "What pruning left: costs, with the recovery in train FLOPs; the width; the sizes of each layer from the first"
)
SIZES: tuple[Dimension, ...] = ("heads", "key_width", "value_width", "feed_forward_width")


def pruned_table(results: Results) -> Table:
    """Return one row per pruned trial: costs after pruning, width, and the sizes by layer as text."""
    return table(PRUNED, " ".join(["arm", "seed", *COSTS, "width", *SIZES]), _rows(results))


def _rows(results: Results) -> Iterator[Row]:
    for arm in results.arms:
        for history in results.trials[arm.name]:
            trials = zip(remaining_architectures(history), pruned_costs(results, arm, history), strict=True)
            for architecture, costs in trials:
                row: dict[str, JsonValue] = {"arm": arm.name, "seed": history.trial.seed}
                yield {**row, **{name: getattr(costs, name) for name in COSTS}, **_sizes(architecture)}


def _sizes(architecture: Architecture) -> Mapping[str, int | str]:
    layers = sizes_by_layer(architecture)
    by_layer = {str(name): " ".join(str(layer[name]) for layer in layers) for name in SIZES}
    return {"width": architecture.width, **by_layer}


def _grids(found: Table) -> Iterator[Grid]:
    if found.rows:
        numbers = (*COSTS, "width")
        columns = [Column(COST_TITLES.get(n, n.replace("_", " ")), numeric=n in numbers) for n in found.columns]
        yield grid(PRUNED, TITLE, columns, [[_text(name, row) for name in found.columns] for row in found.rows])


def _text(name: str, row: Row) -> str:
    return scientific(int(number(row[name]) or 0)) if name.endswith("_flops") else str(row[name])


def _content(evidence: Evidence) -> Content:
    found = pruned_table(evidence.results)
    return Content(with_rows(found), tuple(_grids(found)))


SECTION = Section("pruning", _content)

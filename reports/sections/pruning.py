"""What pruning left of an encoder: its sizes by arm and seed. SchuBERT: Khetan and Karnin 2020, arXiv 2005.06628."""

from collections.abc import Iterator, Mapping

from reports.grid import Column, shown
from reports.number_format import scientific
from reports.section import Content, Section
from reports.statistics.arm_costs import COST_TITLES, COSTS, pruned_costs, remaining_architectures
from reports.statistics.evidence import Evidence
from reports.statistics.results import Results
from reports.table import Row, Table, number
from search_space.architecture import Architecture
from search_space.pruning import Dimension, sizes_by_layer
from steeplechase.foundation.schema import JsonValue

PRUNED = "pruned_architectures"
TITLE = (
    "What pruning left: costs, with the recovery in train FLOPs; the width; the sizes of each layer from the first"
)
SIZES: tuple[Dimension, ...] = ("heads", "key_width", "value_width", "feed_forward_width")


def _rows(results: Results) -> Iterator[Row]:
    """Yield one row per pruned trial: costs after pruning, width, and the sizes by layer as text."""
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


def _column(name: str) -> Column:
    title = COST_TITLES.get(name, name.replace("_", " "))
    if name.endswith("_flops"):
        return Column(title, read=lambda row: scientific(int(number(row[name]) or 0)))
    return Column(title, numeric=name in (*COSTS, "width"), read=name)


def _content(evidence: Evidence) -> Content:
    found = Table.of(PRUNED, _rows(evidence.results))
    return Content(found.filled, shown(PRUNED, TITLE, [*map(_column, found.columns)], found.rows))


SECTION = Section("pruning", _content)

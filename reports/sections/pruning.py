"""What pruning left of an encoder: its sizes by arm and seed. SchuBERT: Khetan and Karnin 2020, arXiv 2005.06628."""

from collections.abc import Iterator
from dataclasses import asdict

from reports.number_format import scientific
from reports.section import Section, one_table
from reports.statistics.arm_costs import COST_TITLES, pruned_costs, remaining_architectures
from reports.statistics.results import Results
from reports.table import Column, Row, words
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
                layers = sizes_by_layer(architecture)
                row: dict[str, JsonValue] = {"arm": arm.name, "seed": history.trial.seed}
                row |= {**asdict(costs), "width": architecture.width}
                yield {**row, **{name: " ".join(str(layer[name]) for layer in layers) for name in SIZES}}


COLUMNS = (
    *(words("arm"), words("seed"), Column(COST_TITLES["parameters"], read="parameters")),
    Column(COST_TITLES["forward_flops"], read=lambda row: scientific(row["forward_flops"])),
    Column(COST_TITLES["train_flops"], read=lambda row: scientific(row["train_flops"])),
    *(Column("width"), *(words(name.replace("_", " "), name) for name in SIZES)),
)
SECTION = Section("pruning", one_table(PRUNED, _rows, TITLE, COLUMNS))

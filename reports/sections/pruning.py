"""What pruning left of an encoder: its sizes by arm and seed. SchuBERT: Khetan and Karnin 2020, arXiv 2005.06628."""

from collections.abc import Iterator, Mapping

from configuration.stage_label import PRETRAIN
from foundation.schema import canonical_text
from ledger.records import with_results
from ledger.stage_results import PretrainResult
from reports.grid import Column, Grid, grid
from reports.section import Content, Section, with_rows
from reports.statistics.evidence import Evidence
from reports.statistics.results import Results
from reports.table import Row, Table, table
from search_space.architecture import Architecture
from search_space.pruning import Dimension, sizes_by_layer

PRUNED = "pruned_architectures"
TITLE = "What pruning left: the width, and the sizes of each layer from the first"
SIZES: tuple[Dimension, ...] = ("heads", "key_width", "value_width", "feed_forward_width")


def pruned_table(results: Results) -> Table:
    """Return one row per pruned trial: parameters, width, and the sizes by layer as text."""
    return table(PRUNED, " ".join(["arm", "seed", "parameters", "width", *SIZES]), _rows(results))


def _rows(results: Results) -> Iterator[Row]:
    for arm in results.arms:
        for history in results.trials[arm.name]:
            for _, result in with_results(history.finished(PRETRAIN), PretrainResult):
                if result.architecture is not None:
                    sizes = _sizes(Architecture.model_validate_json(canonical_text(dict(result.architecture))))
                    yield {"arm": arm.name, "seed": history.trial.seed, "parameters": result.parameters, **sizes}


def _sizes(architecture: Architecture) -> Mapping[str, int | str]:
    layers = sizes_by_layer(architecture)
    by_layer = {str(name): " ".join(str(layer[name]) for layer in layers) for name in SIZES}
    return {"width": architecture.width, **by_layer}


def _grids(found: Table) -> Iterator[Grid]:
    if found.rows:
        columns = [Column(name.replace("_", " "), numeric=name in ("parameters", "width")) for name in found.columns]
        yield grid(PRUNED, TITLE, columns, [[str(row[name]) for name in found.columns] for row in found.rows])


def _content(evidence: Evidence) -> Content:
    found = pruned_table(evidence.results)
    return Content(with_rows(found), tuple(_grids(found)))


SECTION = Section("pruning", _content)

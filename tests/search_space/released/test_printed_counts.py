"""The closed form meets torch's count and, under each paper's convention, the printed counts of variants."""

import pytest
import torch

from search_space.architecture import Architecture
from search_space.released.models import parameters_as_published, preset_of
from search_space.released.papers import PublishedRow, published
from steeplechase.models.encoder import Encoder

TOLERANCE = {"albert_table3": 0.5e6, "albert_table4": 0.5e6, "schubert_sizes": 0.7e6}
ROUNDED_DOWN = {"BERT-Base, 6 layers": 1e6}  # 66.96 million are printed as 66M
ROWS = [
    (table, name)
    for table in TOLERANCE
    for name, row in published().tables[table].rows.items()
    if row.model is not None  # the dimensions of some of SchuBERT's models were not found
]

WITH_POOLER = {  # of BERT's Table 6, to the unit: transformers' BertModel
    "3 layers, 768 wide, 12 heads": 45_691_392,
    "6 layers, 768 wide, 3 heads": 66_955_008,
    "6 layers, 768 wide, 12 heads": 66_955_008,
    "12 layers, 768 wide, 12 heads": 109_482_240,
    "12 layers, 1024 wide, 16 heads": 183_987_200,
    "24 layers, 1024 wide, 16 heads": 335_141_888,
}


def built(architecture: Architecture) -> int:
    with torch.device("meta"):
        return sum(value.numel() for value in Encoder(architecture, 0.0).parameters())


def counted(row: PublishedRow) -> int:
    preset = preset_of(row)
    assert preset is not None
    assert built(preset.candidate.architecture) == preset.candidate.architecture.parameters
    return parameters_as_published(preset, row)


@pytest.mark.parametrize(("table", "name"), ROWS)
def test_a_printed_count_is_met_within_its_rounding(table: str, name: str) -> None:
    row = published().tables[table].rows[name]
    assert row.printed_parameters is not None
    printed = float(row.printed_parameters.removesuffix("M")) * 1e6
    assert abs(counted(row) - printed) <= ROUNDED_DOWN.get(name, TOLERANCE[table])


@pytest.mark.parametrize(("name", "parameters"), WITH_POOLER.items())
def test_berts_sizes_count_to_the_unit(name: str, parameters: int) -> None:
    row = published().tables["bert_table6"].rows[name]
    assert counted(row.model_copy(update={"pooler": True})) == parameters

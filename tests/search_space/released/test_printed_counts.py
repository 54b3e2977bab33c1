"""The closed form meets torch's count and, under each paper's convention, the printed counts of variants."""

from itertools import product

import pytest
import torch

from models.encoder import Encoder
from search_space.architecture import Architecture
from search_space.released.models import PRESETS, parameters_as_published, preset_of
from search_space.released.papers import PublishedRow, published

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
SCHUBERT = {  # millions, with the pooler
    "hidden size alone, 77M": 77.45,
    "hidden size alone, 66M": 66.32,
    "hidden size alone, 55M": 55.48,
    "hidden size alone, 43M": 43.23,
    "hidden size alone, 33M": 33.28,
    "BERT-Base, 9 layers": 88.22,
    "BERT-Base, 6 layers": 66.96,
}
ALBERT = {  # millions, without the pooler
    ("none", 64): 87.06,
    ("none", 128): 89.06,
    ("none", 256): 93.06,
    ("none", 768): 108.49,
    ("all", 64): 9.09,
    ("all", 128): 11.09,
    ("all", 256): 15.10,
    ("all", 768): 30.52,
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


@pytest.mark.parametrize(("name", "millions"), SCHUBERT.items())
def test_schuberts_ladder_counts_to_a_hundredth_of_a_million(name: str, millions: float) -> None:
    assert round(counted(published().tables["schubert_sizes"].rows[name]) / 1e6, 2) == millions


@pytest.mark.parametrize(("sharing", "width"), ALBERT)
def test_alberts_embedding_widths_count_to_a_hundredth_of_a_million(sharing: str, width: int) -> None:
    albert = PRESETS["albert-base"].candidate.architecture
    architecture = albert.model_copy(update={"sharing": sharing, "embedding_width": width})
    assert round(built(architecture) / 1e6, 2) == ALBERT[sharing, width]


def test_the_order_of_equal_sublayers_does_not_change_the_count() -> None:
    programs = ["(s f)*4", "s*2 (s f)*2 f*2", "s*4 f*4", "f s s f f s s f"]
    counts = {(program, sharing): built_program(program, sharing) for program, sharing in product(programs, SHARED)}
    for sharing in SHARED:
        assert len({counts[program, sharing] for program in programs}) == 1


SHARED = ("none", "attention", "feed_forward", "all")


def built_program(program: str, sharing: str) -> int:
    architecture = Architecture.model_validate({"layers": program, "sharing": sharing})
    assert built(architecture) == architecture.parameters
    return architecture.parameters


def test_pre_norm_adds_the_final_norm_alone() -> None:
    post = Architecture.model_validate({"width": 512, "embedding_width": 512})
    pre = Architecture.model_validate({"width": 512, "embedding_width": 512, "normalisation": {"kind": "pre_norm"}})
    assert built(pre) - built(post) == pre.parameters - post.parameters == 2 * 512

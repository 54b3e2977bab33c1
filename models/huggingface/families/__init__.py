"""Families of transformers' models: one file per family."""

from models.huggingface.families.albert import Albert
from models.huggingface.families.bert import Bert
from models.huggingface.families.convbert import ConvBert
from models.huggingface.families.electra import Electra
from models.huggingface.families.family import Family, WeightPair
from models.huggingface.families.roberta import Roberta
from models.huggingface.families.roberta_prelayernorm import RobertaPreLayerNorm
from search_space.architecture import Architecture
from search_space.convolution import SpanDynamic
from search_space.position import LearnedPositions

ALBERT, BERT, CONVBERT, ELECTRA = Albert(), Bert(), ConvBert(), Electra()
ROBERTA, ROBERTA_PRE_NORM = Roberta(), RobertaPreLayerNorm()
FAMILIES: dict[str, Family] = {
    family.model_type: family for family in (ALBERT, BERT, CONVBERT, ELECTRA, ROBERTA, ROBERTA_PRE_NORM)
}
"""By `model_type`."""


def nearest(architecture: Architecture) -> Family:
    """Return the family that an architecture is exported as, or whose obstacles say why it is not."""
    position = architecture.position
    if isinstance(architecture.convolution, SpanDynamic):
        return CONVBERT
    if architecture.sharing == "all":
        return ALBERT
    if architecture.normalisation.kind == "pre_norm":
        return ROBERTA_PRE_NORM
    if isinstance(position, LearnedPositions) and position.offset:
        return ROBERTA
    return ELECTRA


__all__ = ["FAMILIES", "Family", "WeightPair", "nearest"]

"""Families of transformers' models: one file per family."""

from search_space.architecture import Architecture
from search_space.convolution import SpanDynamic
from search_space.encoder_decoder_architecture import EncoderDecoderArchitecture
from search_space.position import LearnedPositions
from steeplechase.models.huggingface.families.albert import Albert
from steeplechase.models.huggingface.families.bart import Bart
from steeplechase.models.huggingface.families.convbert import ConvBert
from steeplechase.models.huggingface.families.electra import Bert, Electra
from steeplechase.models.huggingface.families.family import Family, WeightPair
from steeplechase.models.huggingface.families.marian import Marian
from steeplechase.models.huggingface.families.openai_gpt import OpenAiGpt
from steeplechase.models.huggingface.families.roberta import Roberta, RobertaPreLayerNorm
from steeplechase.models.huggingface.families.xlnet import XlNet

ALBERT, BERT, CONVBERT, ELECTRA = Albert(), Bert(), ConvBert(), Electra()
ROBERTA, ROBERTA_PRE_NORM, GPT, XLNET = Roberta(), RobertaPreLayerNorm(), OpenAiGpt(), XlNet()
BART, MARIAN = Bart(), Marian()
FAMILIES: dict[str, Family] = {
    family.model_type: family
    for family in (ALBERT, BART, BERT, CONVBERT, ELECTRA, GPT, MARIAN, ROBERTA, ROBERTA_PRE_NORM, XLNET)
}
"""By `model_type`."""
BY_VISIBILITY: dict[str, Family] = {"left_to_right": GPT, "permutation": XLNET}


def nearest(architecture: Architecture) -> Family:
    """Return the family that an architecture is exported as, or whose obstacles say why it is not."""
    if isinstance(architecture, EncoderDecoderArchitecture):
        return MARIAN if architecture.position.kind == "sinusoidal" else BART
    return _nearest_encoder(architecture)


def _nearest_encoder(architecture: Architecture) -> Family:
    position = architecture.position
    if isinstance(architecture.convolution, SpanDynamic):
        return CONVBERT
    if architecture.visibility in BY_VISIBILITY:
        return BY_VISIBILITY[architecture.visibility]
    if architecture.sharing == "all":
        return ALBERT
    if architecture.normalisation.kind == "pre_norm":
        return ROBERTA_PRE_NORM
    if isinstance(position, LearnedPositions) and position.offset:
        return ROBERTA
    return ELECTRA


__all__ = ["FAMILIES", "Family", "WeightPair", "nearest"]

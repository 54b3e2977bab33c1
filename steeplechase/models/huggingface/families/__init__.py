"""Families of transformers' models: one file per family."""

from search_space.architecture import Architecture
from search_space.convolution import SpanDynamic
from search_space.encoder_decoder_architecture import EncoderDecoderArchitecture
from search_space.position import LearnedPositions, RotaryPositions
from steeplechase.models.huggingface.families.electra import Bert, ConvBert, Electra
from steeplechase.models.huggingface.families.encoder_decoder import Bart, Marian
from steeplechase.models.huggingface.families.family import Family, WeightPair
from steeplechase.models.huggingface.families.modernbert import ModernBert
from steeplechase.models.huggingface.families.openai_gpt import OpenAiGpt
from steeplechase.models.huggingface.families.roberta import Albert, Roberta, RobertaPreLayerNorm
from steeplechase.models.huggingface.families.xlnet import XlNet

ALBERT, BERT, CONVBERT, ELECTRA = Albert(), Bert(), ConvBert(), Electra()
ROBERTA, ROBERTA_PRE_NORM, GPT, XLNET = Roberta(), RobertaPreLayerNorm(), OpenAiGpt(), XlNet()
BART, MARIAN, MODERNBERT = Bart(), Marian(), ModernBert()
FAMILIES: dict[str, Family] = {
    family.model_type: family
    for family in (ALBERT, BART, BERT, CONVBERT, ELECTRA, GPT, MARIAN, MODERNBERT, ROBERTA, ROBERTA_PRE_NORM, XLNET)
}
"""By `model_type`."""
BY_VISIBILITY: dict[str, Family] = {"left_to_right": GPT, "permutation": XLNET}


def nearest(architecture: Architecture) -> Family:
    """Return the family that an architecture is exported as, or whose obstacles say why it is not."""
    if isinstance(architecture, EncoderDecoderArchitecture):
        return MARIAN if architecture.position.kind == "sinusoidal" else BART
    position = architecture.position
    choices = (
        (isinstance(architecture.convolution, SpanDynamic), CONVBERT),
        (architecture.visibility in BY_VISIBILITY, BY_VISIBILITY.get(architecture.visibility, ELECTRA)),
        (isinstance(position, RotaryPositions), MODERNBERT),
        (architecture.sharing == "all", ALBERT),
        (architecture.normalisation.kind == "pre_norm", ROBERTA_PRE_NORM),
        (isinstance(position, LearnedPositions) and position.offset > 0, ROBERTA),
    )
    return next((family for fits, family in choices if fits), ELECTRA)


__all__ = ["FAMILIES", "Family", "WeightPair", "nearest"]

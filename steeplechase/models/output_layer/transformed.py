"""BERT's output layer, which is the head of masked language modelling."""

from search_space.architecture import Architecture
from search_space.output_layer.option import OutputLayerOption
from steeplechase.models.heads.masked_language_model import MaskedLanguageModelHead
from steeplechase.models.output_layer import OutputHead


def build(option: OutputLayerOption, architecture: Architecture) -> OutputHead:
    """Return the head."""
    return MaskedLanguageModelHead(architecture)

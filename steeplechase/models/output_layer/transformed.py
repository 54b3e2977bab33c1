"""BERT's output layer, which is the head of masked language modelling."""

from search_space.architecture import Architecture
from search_space.output_layer.option import OutputLayerOption
from steeplechase.models.heads.masked_language_model import MaskedLanguageModelHead
from steeplechase.models.output_layer import OutputHead


def build(option: OutputLayerOption, architecture: Architecture) -> OutputHead:
    """Return BERT's head: a map, an activation and a norm before the token embeddings."""
    return MaskedLanguageModelHead(architecture)

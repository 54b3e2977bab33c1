"""BERT's output layer with bounded logits: cap · tanh(z / cap). Gemma 2, arXiv 2408.00118, section 2."""

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar, Literal

from search_space.architecture import Architecture
from search_space.cost import Component, Operations
from search_space.output_layer.option import OutputLayerOption
from search_space.output_layer.transformed import vocabulary_head
from steeplechase.foundation.schema import JsonValue, PositiveNumber


class SoftCapped(OutputLayerOption):
    """A map to the embedding width, GELU, layer norm, the embedding table, a bias per token, and the cap."""

    examples: ClassVar[tuple[Mapping[str, JsonValue], ...]] = ({}, {"cap": 5.0})
    kind: Literal["soft_capped"] = "soft_capped"
    """Chooses BERT's output layer with bounded logits."""
    cap: PositiveNumber = 30.0
    """The bound of a logit's size. Default: Gemma 2's, for its last logits."""

    def component(self, architecture: Architecture) -> Component:
        """Return the costs of masked language modelling's head, and of the cap on every logit."""
        plain, vocabulary = vocabulary_head(architecture), architecture.vocabulary_size
        return replace(plain, operations=plain.operations + Operations(scalings=2 * vocabulary, sigmoids=vocabulary))

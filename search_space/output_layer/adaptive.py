"""Adaptive softmax: rare tokens in clusters, each behind one logit. Grave et al. 2016, arXiv 1609.04309.

The form is that of Transformer-XL (arXiv 1901.02860) on WikiText-103: the table is the embedding table, every token
and every cluster has a bias, and embeddings are equally wide in all clusters (a division value of 1).
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field

from search_space.architecture import Architecture
from search_space.cost import Component, Operations, Role
from search_space.output_layer.option import OutputLayerOption, own_map_missing
from steeplechase.foundation.schema import Count


def _as_tuple(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


Cutoffs = Annotated[tuple[Count, ...], Field(min_length=1), BeforeValidator(_as_tuple)]


class AdaptiveSoftmax(OutputLayerOption):
    """Tokens below the first cutoff have logits of their own, beside one of each cluster of the others.

    The probabilities are exact whatever the order of the vocabulary; it saves time where frequent tokens come first.
    """

    examples: ClassVar = ({"cutoffs": [10, 20]},)
    kind: Literal["adaptive"] = "adaptive"
    """Chooses the adaptive softmax."""
    cutoffs: Cutoffs = Field(examples=[[20000, 40000, 200000]])
    """The first token of each cluster, in increasing order, below the vocabulary's size."""

    def component(self, architecture: Architecture) -> Component:
        """Return the costs with every cluster computed for every prediction: the most that a prediction may cost."""
        width, vocabulary, clusters = architecture.embedding_width, architecture.vocabulary_size, len(self.cutoffs)
        outputs = vocabulary + clusters
        parameters = clusters * width + outputs
        operations = Operations(
            multiply_adds=width * outputs, additions=outputs, softmaxed=outputs, lookups=vocabulary
        )
        shape = architecture.attention_shape
        return Component(Role.VOCABULARY, shape, parameters, operations, applied_to="prediction")

    def mistakes(self, architecture: Architecture) -> Iterator[str]:
        """Yield cutoffs that do not increase or lie outside the vocabulary, and widths that differ."""
        yield from own_map_missing(architecture)
        if any(first >= second for first, second in pairwise(self.cutoffs)):
            yield f"cutoffs {', '.join(map(str, self.cutoffs))} do not increase"
        if self.cutoffs[-1] >= architecture.vocabulary_size:
            yield f"cutoff {self.cutoffs[-1]} is not below the vocabulary_size {architecture.vocabulary_size}"

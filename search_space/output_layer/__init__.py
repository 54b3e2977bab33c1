"""The output layer of a language model, from hidden states to the vocabulary: the options."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field

from search_space.architecture import Architecture
from search_space.cost import Applied, Component, Operations, Role, linear
from search_space.norm import norm_parameters
from search_space.output_layer.option import OutputLayerOption, own_map_missing
from search_space.shape import linear_parameters
from steeplechase.foundation.schema import OPTION, Count, JsonValue, PositiveNumber

OutputLayer = Annotated[OutputLayerOption, OPTION]


class Transformed(OutputLayerOption):
    """A map to the embedding width, GELU, layer norm, the embedding table, and a bias per token.

    Devlin et al. 2018, arXiv 1810.04805.
    """

    kind: Literal["transformed"] = "transformed"
    """Chooses BERT's output layer."""

    def component(self, architecture: Architecture) -> Component:
        """Return the costs of masked language modelling's head."""
        return vocabulary_head(architecture)


def vocabulary_head(architecture: Architecture, applied_to: Applied = "prediction") -> Component:
    """Return a linear map to the embedding width, GELU, layer norm, and the tied token table.

    The biases of the table are counted as parameters; ELECTRA's script counts no operations for them.
    """
    width, embedding_width, vocabulary = (
        architecture.width,
        architecture.embedding_width,
        architecture.vocabulary_size,
    )
    norm = norm_parameters(architecture.norm, embedding_width)
    parameters = linear_parameters(width, embedding_width) + norm + vocabulary
    transform = linear(width, embedding_width) + Operations(gelus=embedding_width, normalised=embedding_width)
    loss = Operations(softmaxed=vocabulary, lookups=vocabulary)  # lookup of the target
    logits = Operations(multiply_adds=embedding_width * vocabulary)
    operations = transform + logits + loss
    return Component(Role.VOCABULARY, architecture.attention_shape, parameters, operations, applied_to=applied_to)


class EmbeddingTable(OutputLayerOption):
    """The logit of a token is the product of the hidden state with the token's embedding; a bias at most.

    GPT: Radford et al. 2018, eq. 2; with biases XLNet, arXiv 1906.08237.
    """

    kind: Literal["embeddings"] = "embeddings"
    """Chooses the embedding table alone."""
    biases: bool = False
    """Whether a bias per token is added, as in XLNet."""

    def component(self, architecture: Architecture) -> Component:
        """Return the product with the table."""
        vocabulary = architecture.vocabulary_size
        operations = Operations(
            multiply_adds=architecture.embedding_width * vocabulary, softmaxed=vocabulary, lookups=vocabulary
        )
        parameters = vocabulary if self.biases else 0
        shape = architecture.attention_shape
        return Component(Role.VOCABULARY, shape, parameters, operations, applied_to="prediction")

    def mistakes(self, architecture: Architecture) -> Iterator[str]:
        """Yield that the widths differ."""
        yield from own_map_missing(architecture)


def _as_tuple(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


Cutoffs = Annotated[tuple[Count, ...], Field(min_length=1), BeforeValidator(_as_tuple)]


class AdaptiveSoftmax(OutputLayerOption):
    """Tokens below the first cutoff have logits of their own, beside one of each cluster of the others.

    The probabilities are exact whatever the order of the vocabulary; it saves time where frequent tokens come first.

    Grave et al. 2016, arXiv 1609.04309, in the form of Transformer-XL (arXiv 1901.02860) on WikiText-103: the table
    is the embedding table, every token and every cluster has a bias, and embeddings are equally wide in all
    clusters (a division value of 1).
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


class Untied(OutputLayerOption):
    """The logits are a linear map of the hidden state with a bias per token; embeddings are of inputs alone.

    Press and Wolf 2016, arXiv 1608.05859; NeoBERT, arXiv 2502.19587.
    """

    kind: Literal["untied"] = "untied"
    """Chooses a table that is not the embedding table."""

    def component(self, architecture: Architecture) -> Component:
        """Return the map from the width to the vocabulary, as NeoBERT has it."""
        width, vocabulary = architecture.width, architecture.vocabulary_size
        operations = linear(width, vocabulary) + Operations(softmaxed=vocabulary, lookups=vocabulary)
        parameters, shape = linear_parameters(width, vocabulary), architecture.attention_shape
        return Component(Role.VOCABULARY, shape, parameters, operations, applied_to="prediction")


class SoftCapped(OutputLayerOption):
    """A map to the embedding width, GELU, layer norm, the embedding table, a bias per token, and the cap.

    cap · tanh(z / cap): Gemma 2, arXiv 2408.00118, section 2.
    """

    examples: ClassVar[tuple[Mapping[str, JsonValue], ...]] = ({}, {"cap": 5.0})
    kind: Literal["soft_capped"] = "soft_capped"
    """Chooses BERT's output layer with bounded logits."""
    cap: PositiveNumber = 30.0
    """The bound of a logit's size. Default: Gemma 2's, for its last logits."""

    def component(self, architecture: Architecture) -> Component:
        """Return the costs of masked language modelling's head, and of the cap on every logit."""
        plain, vocabulary = vocabulary_head(architecture), architecture.vocabulary_size
        return replace(plain, operations=plain.operations + Operations(scalings=2 * vocabulary, sigmoids=vocabulary))

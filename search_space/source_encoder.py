"""A new encoder of the source in place of a pretrained model's embeddings of source tokens, and its costs.

BART, Lewis et al. 2019, arXiv 1910.13461, section 3.4: it turns tokens of a language that pretraining has not seen
into vectors that the pretrained encoder reads. The positions of the pretrained model are added to these vectors.
"""

from collections.abc import Iterator
from dataclasses import replace

from search_space.architecture import Architecture
from search_space.cost import MATMUL, Component, Operations, Role
from search_space.encoder_decoder_architecture import EncoderDecoderArchitecture
from search_space.stack import self_attentions
from steeplechase.foundation.errors import Violation
from steeplechase.foundation.schema import Count, Schema

OWNER = "source encoder"
"""The owner of the new encoder's components."""
WITHOUT_WEIGHTS = (Role.ATTENTION_SCORES, Role.CROSS_ATTENTION_SCORES)
"""Components whose products are of two activations."""


class SourceEncoderSizes(Schema):
    """The sizes of the new encoder, a Transformer of the pretrained model's width, which its vectors must have."""

    depth: Count = 6
    """Number of blocks, each self-attention and a feed-forward network. Default: BART's (section 5.4)."""
    heads: Count | None = None
    """Attention heads. None: as many as the pretrained encoder has."""
    feed_forward_width: Count | None = None
    """Inner channels of the feed-forward networks. None: as many as the pretrained encoder has."""

    def architecture(self, model: EncoderDecoderArchitecture, vocabulary_size: int) -> Architecture:
        """Return the new encoder's architecture: positions, norms and activation are the pretrained model's."""
        return Architecture(
            depth=self.depth,
            width=model.width,
            embedding_width=model.width,
            heads=self.heads or model.heads,
            feed_forward_width=self.feed_forward_width or model.feed_forward_width,
            feed_forward_activation=model.feed_forward_activation,
            normalisation=model.normalisation,
            vocabulary_size=vocabulary_size,
            position=model.position,
            positions=model.positions,
            segments=0,
            attention_biases=model.attention_biases,
        )

    def violations(self, model: EncoderDecoderArchitecture) -> Iterator[Violation]:
        """Yield the sizes that make no encoder of the model's width, each under its name."""
        sizes = (("depth",), ("heads",), ("feed_forward_width",))
        for violation in self.architecture(model, model.vocabulary_size).violations():
            yield violation if violation.path in sizes else Violation((), violation.message)


def parts_with_source_encoder(
    model: EncoderDecoderArchitecture, source: Architecture, length: int
) -> tuple[Component, ...]:
    """Return the components of a model and its new encoder, on a source and a target of `length` tokens each.

    The table of source tokens is no longer part of the model, unless the decoder has the same one.
    """
    embeddings, *others = model.parts(length)
    table = 0 if model.embedding_tying in ("all", "inputs") else model.vocabulary_size * model.width
    looked_up = Operations(lookups=-model.vocabulary_size * model.width)
    kept = replace(
        embeddings,
        parameters=embeddings.parameters - table,
        operations=embeddings.operations + looked_up + _scaling(model, -1),
    )
    tokens, *blocks = source.parts(length)
    scaled = replace(tokens, operations=tokens.operations + _scaling(model, 1))
    return *(part.of(OWNER, shared=False) for part in (scaled, *blocks)), kept, *others


def parameters_with_source_encoder(model: EncoderDecoderArchitecture, source: Architecture) -> int:
    """Return the parameters of a model with its new encoder."""
    return sum(part.all_parameters for part in parts_with_source_encoder(model, source, 1))


def first_stage_parameters_count(model: EncoderDecoderArchitecture, source: Architecture) -> int:
    """Return the parameters that the first stage of training updates.

    The new encoder, the learned positions of both stacks, and the matrices of the queries, keys and values of the
    pretrained encoder's first self-attention.
    """
    positions = 2 * model.position.rows(model.positions) * model.width
    return source.parameters + positions + _first_maps(model)


def update_flops(model: EncoderDecoderArchitecture, source: Architecture, length: int, *, first_stage: bool) -> int:
    """Return the FLOPs of matrix products of an update on one source and one target of `length` tokens each.

    A backward pass has one product for the gradient of each input and one for that of each weight. Frozen weights of
    the first stage have none. Gradients pass through all of them where positions are learned, which are below; where
    they are not, those before the decoder's first cross-attention are counted too much.
    """
    parts = parts_with_source_encoder(model, source, length)
    whole = MATMUL.training_passes * MATMUL.flops(parts, length)
    if not first_stage:
        return whole
    weighted = [part for part in parts if part.owner != OWNER and part.role not in WITHOUT_WEIGHTS]
    return whole - MATMUL.flops(weighted, length) + 2 * length * _first_maps(model)


def _first_maps(model: EncoderDecoderArchitecture) -> int:
    """Return the weights of the queries, keys and values of the encoder's first self-attention, 0 without any."""
    first = next(self_attentions(model.blocks), None)
    return 0 if first is None else first.width * (2 * first.keys + first.values)


def _scaling(model: EncoderDecoderArchitecture, sign: int) -> Operations:
    return Operations(scalings=sign * model.width if model.scaled_embeddings else 0)

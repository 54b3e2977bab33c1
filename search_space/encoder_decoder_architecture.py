"""An encoder and a decoder: the decoder writes a target token by token and reads the encoded source.

Vaswani et al. 2017, arXiv 1706.03762; BART, arXiv 1910.13461; MASS, arXiv 1905.02450. Every cost is counted on a
source and a target of the same length, with the output layer at every target token.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from search_space.architecture import Architecture
from search_space.cost import Component, Operations, Role
from search_space.layer_lists import BLOCKS_AT_MOST, lists_of
from search_space.layer_program import LayerProgram, SublayerKind
from search_space.program_parser import InvalidProgram, parse_program
from search_space.stack import Block, blocks, components, sublayer_mistakes
from search_space.sublayer.operation_chain import InvalidChain
from search_space.sublayer.sublayer import InvalidSetting
from steeplechase.foundation.errors import Violation
from steeplechase.foundation.schema import Count

DECODER = "decoder"
"""The owner of the decoder's components."""
EmbeddingTying = Literal["all", "inputs", "target", "none"]
Initialisation = Literal["glorot", "truncated_normal"]


class EncoderDecoderArchitecture(Architecture):
    """Two stacks of the same width: the encoder of the source, and the decoder of the target."""

    own_fields: ClassVar[tuple[str, ...]] = (
        *("kind", "depth", "layers", "decoder_depth", "decoder_layers", "width", "embedding_width", "heads"),
        *("key_width", "value_width", "feed_forward_width", "feed_forward_groups", "feed_forward_activation"),
        *("normalisation", "vocabulary_size", "position", "positions"),
        *("embedding_tying", "scaled_embeddings", "output_bias", "initialisation", "attention_biases"),
    )
    kind: Literal["encoder_decoder"] = "encoder_decoder"
    """Chooses an encoder with a decoder."""
    depth: Count = 6
    """Number of blocks of the encoder, each self-attention and a feed-forward network: short for
    `layers: (s f)*6`. Default: Transformer base (arXiv 1706.03762, Table 3)."""
    decoder_depth: Count = 6
    """Number of blocks of the decoder, each self-attention, cross-attention and a feed-forward network: short for
    `decoder_layers: (s c f)*6`. Default: Transformer base."""
    decoder_layers: str | None = None
    """The decoder's sublayers as a layer program, in which c is cross-attention; `decoder_depth` is then its number
    of blocks. None: `(s c f)*decoder_depth`."""
    segments: Annotated[int, Field(ge=0, le=0)] = 0
    """None: a source and a target are read by different stacks."""
    embedding_tying: EmbeddingTying = "all"
    """The tables that are one: `all`, of source, target and output (Transformer, BART); `inputs`, of source and
    target; `target`, of target and output (Press and Wolf 2017, arXiv 1608.05859); `none`."""
    scaled_embeddings: bool = False
    """Whether token embeddings are multiplied by the square root of the width (arXiv 1706.03762, section 3.4)."""
    output_bias: bool = False
    """Whether the output layer has a bias per token, as Marian's has."""

    initialisation: Initialisation = "glorot"
    """The initial weights: of Glorot's variance, with embeddings of variance 1 / width (the Transformer's release and
    fairseq), or of a truncated normal with deviation 0.02 (BART's)."""

    @model_validator(mode="before")
    @classmethod
    def _own_fields_only(cls, document: Any) -> Any:
        """Refuse foreign fields and lists of sizes, and take the width as the width of the embeddings."""
        if not isinstance(document, Mapping):
            return document
        own = cls.own_document(document, f"its fields: {_names(cls)}")
        lists = lists_of(document)
        if lists:
            message = "a list has one value for each sublayer of one stack; write layers and decoder_layers"
            raise ValueError(f"{', '.join(lists)}: {message}")
        return _with_decoder_depth(own)

    @field_validator("decoder_layers")
    @classmethod
    def _canonical_decoder(cls, text: str | None) -> str | None:
        """Return the canonical program; None for `(s c f)*n`, which the depth says."""
        if text is None:
            return None
        program = parse_program(text)
        return None if program == _usual_decoder(len(program.blocks)) else str(program)

    def violations(self) -> Iterator[Violation]:
        """Yield every rule that the sizes break together."""
        yield from super().violations()
        if self.embedding_width != self.width:
            message = (
                f"{self.embedding_width} is not the width {self.width}; both stacks read the embeddings as they are"
            )
            yield Violation(("embedding_width",), message)
        yield from self._decoder_violations()

    def _decoder_violations(self) -> Iterator[Violation]:
        where = ("decoder_layers",) if self.decoder_layers is not None else ("decoder_depth",)
        if self.decoder_depth > BLOCKS_AT_MOST:
            message = f"{self.decoder_depth} blocks are too many; allowed: 1 to {BLOCKS_AT_MOST}"
            yield Violation(where, message)
            return
        if not self.decoder_program.count(SublayerKind.CROSS_ATTENTION):
            yield Violation(where, "no cross-attention c, so that the decoder does not read the source: (s c f)*6")
        try:
            made = self.decoder_blocks
        except (InvalidSetting, InvalidChain) as error:
            if self.decoder_layers is not None:
                yield Violation(where, str(error))
            return
        if self.decoder_layers is not None:
            for mistake in sublayer_mistakes(made):
                yield Violation(where, mistake)

    @property
    def decoder_program(self) -> LayerProgram:
        """The decoder's sublayers in order."""
        return (
            _usual_decoder(self.decoder_depth) if self.decoder_layers is None else parse_program(self.decoder_layers)
        )

    @property
    def programs(self) -> tuple[LayerProgram, ...]:
        """The programs of the encoder and of the decoder."""
        return self.program, self.decoder_program

    @property
    def decoder_blocks(self) -> tuple[Block, ...]:
        """The decoder's blocks with their sizes. Raises InvalidSetting or InvalidChain for an invalid program."""
        return _decoder_blocks(self)

    @property
    def all_blocks(self) -> tuple[Block, ...]:
        """The blocks of both stacks. Raises InvalidSetting or InvalidChain for an invalid program."""
        return (*self.blocks, *self.decoder_blocks)

    @property
    def embedding_scale(self) -> float:
        """The factor of token embeddings."""
        return math.sqrt(self.width) if self.scaled_embeddings else 1.0

    @property
    def stacked_blocks(self) -> int:
        """Blocks of both stacks."""
        return self.depth + self.decoder_depth

    def embedding_parts(self, length: int) -> tuple[Component, ...]:  # type: ignore[override]
        """Return the embeddings of the source and of the target; a table that both have is counted once."""
        source = super().embedding_parts(length)[0]
        shared = self.vocabulary_size * self.width if self.embedding_tying in ("all", "inputs") else 0
        target = replace(source, parameters=source.parameters - shared).of(DECODER, shared=False)
        return self._scaled(source), self._scaled(target)

    def block_parts(self, length: int) -> tuple[Component, ...]:
        """Return the components of both stacks' blocks, on a source and a target of `length` tokens each."""
        decoder = components(self.decoder_blocks, "none", self.normalisation, length)
        return (*super().block_parts(length), *(part.of(DECODER, shared=False) for part in decoder))

    def final_parts(self) -> tuple[Component, ...]:
        """Return the norms of both stacks' outputs, if there are any, and the output layer."""
        norms = super().final_parts()
        return (*norms, *(part.of(DECODER, shared=False) for part in norms), self._output_part())

    def _scaled(self, embeddings: Component) -> Component:
        scalings = Operations(scalings=self.width if self.scaled_embeddings else 0)
        return replace(embeddings, operations=embeddings.operations + scalings)

    def _output_part(self) -> Component:
        """Return the output layer, computed at every token of the target."""
        table = 0 if self.embedding_tying in ("all", "target") else self.vocabulary_size * self.width
        bias = self.vocabulary_size if self.output_bias else 0
        operations = Operations(multiply_adds=self.vocabulary_size * self.width, additions=bias)
        saved = 2 * self.width  # its input, and the output of the encoder, which cross-attention reads
        part = Component(Role.OUTPUT_LAYER, self.attention_shape, table + bias, operations, saved)
        return part.of(DECODER, shared=False)


def _names(kind: type[EncoderDecoderArchitecture]) -> str:
    return ", ".join(name for name in kind.own_fields if name != "kind")


def _usual_decoder(depth: int) -> LayerProgram:
    return parse_program(f"(s c f)*{depth}")


def _with_decoder_depth(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields with the number of blocks of a decoder's program, which must be a program."""
    text = document.get("decoder_layers")
    if not isinstance(text, str):
        return dict(document)
    try:
        program = parse_program(text)
    except InvalidProgram as error:
        raise ValueError(f"decoder_layers: {error}") from error
    return {**document, "decoder_depth": len(program.blocks)}


@lru_cache(maxsize=4096)
def _decoder_blocks(architecture: EncoderDecoderArchitecture) -> tuple[Block, ...]:
    sizes = replace(architecture.stack_sizes, visibility="left_to_right", source_width=architecture.width)
    return blocks(architecture.decoder_program, sizes)

"""Marian: an encoder and a decoder with sinusoidal positions. transformers 5.23, models/marian.

transformers lays sines into the first half of the channels and cosines into the second; this project interleaves
them, as Vaswani et al. 2017 (section 3.5). Both are one model with the channels of the residual stream in another
order, so the weights that read or write the stream are reordered on the way.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import ClassVar

from search_space.architecture import Architecture
from search_space.encoder_decoder_architecture import EncoderDecoderArchitecture
from steeplechase.foundation.schema import JsonValue
from steeplechase.models.huggingface.families.encoder_decoder import OUTPUT_BIAS, EncoderDecoderFamily
from steeplechase.models.huggingface.families.family import NO_EQUIVALENT, Layout, WeightPair

WRITES_STREAM = ("attention.output", "feed_forward.down")
"""Maps whose outputs, the first axis, are channels of the residual stream."""


class Marian(EncoderDecoderFamily):
    """Post-norm without a norm of the embeddings; the output layer has a bias, which is 0 for one without."""

    model_type = "marian"
    title = "Marian"
    bare_class = "MarianModel"
    generating_class = "MarianMTModel"
    buffers = ("embed_positions.weight",)
    optional = (OUTPUT_BIAS,)
    defaults: ClassVar = {
        **EncoderDecoderFamily.defaults,
        "vocab_size": 58101,
        "share_encoder_decoder_embeddings": True,
    }
    fixed: ClassVar = {**EncoderDecoderFamily.fixed, "share_encoder_decoder_embeddings": True}
    embedding_norm = False
    _learns_positions = False

    def _own_obstacles(self, architecture: Architecture, pad: int | None) -> Iterator[str]:
        if architecture.position.kind != "sinusoidal":
            yield f"position {architecture.position.kind} {NO_EQUIVALENT}: {self.bare_class} has sinusoidal ones"
        if architecture.width % 2:
            yield f"width {architecture.width} {NO_EQUIVALENT}: {self.bare_class} has pairs of a sine and a cosine"

    def keys(self, architecture: Architecture) -> dict[str, JsonValue]:
        """Return the keys of config.json that the family alone has."""
        own: dict[str, JsonValue] = {
            "max_position_embeddings": architecture.positions,
            "share_encoder_decoder_embeddings": True,
            "decoder_vocab_size": architecture.vocabulary_size,
        }
        return super().keys(architecture) | own

    def _positions(self, configured: Mapping[str, JsonValue]) -> dict[str, object]:
        positions = {"positions": configured["max_position_embeddings"], "position": {"kind": "sinusoidal"}}
        return {**positions, "output_bias": True}

    def encoder_pairs(self, architecture: Architecture) -> tuple[WeightPair, ...]:
        """Return every parameter of both stacks, with the axis of the residual stream's channels, and the bias."""
        assert isinstance(architecture, EncoderDecoderArchitecture)
        stacks = tuple(replace(pair, layout=_layout(pair.name)) for pair in super().encoder_pairs(architecture))
        bias = WeightPair("output_bias.bias", OUTPUT_BIAS, "row", outside=True)
        return (*stacks, bias) if architecture.output_bias else stacks


def _layout(name: str) -> Layout:
    """Return which axis of a parameter is the residual stream: the first of norms and output maps, else the last."""
    module, _, part = name.rpartition(".")
    if module.endswith(("_norm", *WRITES_STREAM)):
        return "stream_first"
    return "stream_last" if part == "weight" else "same"

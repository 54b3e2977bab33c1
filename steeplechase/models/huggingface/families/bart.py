"""BART: an encoder and a decoder with learned positions from row 2. transformers 5.23, models/bart."""

from collections.abc import Iterator, Mapping
from typing import ClassVar

from search_space.architecture import Architecture
from search_space.position import LearnedPositions
from steeplechase.foundation.schema import JsonValue
from steeplechase.models.huggingface.families.encoder_decoder import OUTPUT_BIAS, EncoderDecoderFamily
from steeplechase.models.huggingface.families.family import NO_EQUIVALENT

OFFSET = 2  # rows before the first position, BartLearnedPositionalEmbedding


class Bart(EncoderDecoderFamily):
    """Post-norm with normalised embeddings."""

    model_type = "bart"
    title = "BART"
    bare_class = "BartModel"
    generating_class = "BartForConditionalGeneration"
    defaults: ClassVar = {**EncoderDecoderFamily.defaults, "vocab_size": 50265}
    zero = (OUTPUT_BIAS,)
    embedding_norm = True
    _learns_positions = True

    def _own_obstacles(self, architecture: Architecture, pad: int | None) -> Iterator[str]:
        position = architecture.position
        if not isinstance(position, LearnedPositions) or position.offset != OFFSET:
            yield f"position {position.kind} {NO_EQUIVALENT}: {self.bare_class} has learned ones with offset {OFFSET}"
        if getattr(architecture, "output_bias", False):
            yield f"output_bias True {NO_EQUIVALENT}: {self.bare_class} has none that is trained"

    def keys(self, architecture: Architecture) -> dict[str, JsonValue]:
        """Return the keys of config.json that the family alone has."""
        return super().keys(architecture) | {"max_position_embeddings": architecture.positions - OFFSET}

    def _positions(self, configured: Mapping[str, JsonValue]) -> dict[str, object]:
        longest = configured["max_position_embeddings"]
        assert isinstance(longest, int)
        positions = {"positions": longest + OFFSET, "position": {"kind": "learned", "offset": OFFSET}}
        return {**positions, "initialisation": "truncated_normal"}

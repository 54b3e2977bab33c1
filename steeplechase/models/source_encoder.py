"""A new encoder in place of a pretrained model's embeddings of source tokens. BART, arXiv 1910.13461, section 3.4."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from search_space.architecture import Architecture
from search_space.encoder_decoder_architecture import EncoderDecoderArchitecture
from steeplechase.models.convolution import PaddingMask
from steeplechase.models.encoder import Embeddings, Encoder
from steeplechase.models.encoder_decoder import EncoderDecoder, ScaledEmbeddings, initialise_weight
from steeplechase.models.sublayer.attention import Sublayer as SelfAttention


class SourceEncoder(Encoder):
    """An encoder whose embeddings are scaled and whose weights are initialised as a pretrained model's."""

    def __init__(self, architecture: Architecture, model: EncoderDecoderArchitecture, dropout_rate: float) -> None:
        super().__init__(architecture, dropout_rate, ScaledEmbeddings(architecture, model.embedding_scale))
        self.initialisation = model.initialisation

    def initialise_weight(self, layer: nn.Linear | nn.Embedding, generator: torch.Generator) -> None:
        """Set a weight as the pretrained model declares."""
        initialise_weight(self.initialisation, layer, generator)


class EncodedSource(Embeddings):
    """The new encoder's vectors, plus the pretrained positions, then the pretrained norm where there is one."""

    def __init__(self, encoder: SourceEncoder, pretrained: Embeddings) -> None:
        nn.Module.__init__(self)
        self.encoder, self.positions, self.norm = encoder, pretrained.positions, pretrained.norm

    @property
    def tokens(self) -> nn.Embedding:  # type: ignore[override]
        """The table of source tokens."""
        return self.encoder.embeddings.tokens

    def read(
        self,
        tokens: Int[Tensor, "batch seq"],
        segments: Int[Tensor, "batch seq"] | None,
        padding_mask: PaddingMask,
    ) -> Float[Tensor, "batch seq embedding"]:
        """Return the encoded tokens; there are no segments."""
        encoded = self.encoder(tokens, None, padding_mask) + self.positions_from(0, tokens.shape[1])
        summed: Tensor = encoded if self.norm is None else self.norm(encoded)
        return summed


def add_source_encoder(model: EncoderDecoder, architecture: Architecture) -> SourceEncoder:
    """Give a model a new encoder in place of its embeddings of source tokens; return it, not initialised."""
    encoder = SourceEncoder(architecture, model.architecture, model.dropout_rate)
    model.embeddings = EncodedSource(encoder, model.embeddings)
    return encoder


def first_stage_parameters(model: EncoderDecoder) -> dict[str, nn.Parameter]:
    """Return what the first stage of training updates, by name.

    The new encoder, the positions of both stacks where they are learned, and the matrices of queries, keys and values
    of the pretrained encoder's first self-attention; "projection matrix" in BART's words, so without biases.
    """
    assert isinstance(model.embeddings, EncodedSource)
    updated: list[Tensor] = [
        *model.embeddings.encoder.parameters(),
        *model.embeddings.positions.parameters(),
        *model.decoder.embeddings.positions.parameters(),
    ]
    attentions = [module for module in model.blocks.modules() if isinstance(module, SelfAttention)]
    updated += [layer.weight for first in attentions[:1] for layer in (first.query, first.key, first.value)]
    chosen = {id(parameter) for parameter in updated}
    return {name: parameter for name, parameter in model.named_parameters() if id(parameter) in chosen}

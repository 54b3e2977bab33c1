"""An encoder and a decoder, and a new encoder of sources. Vaswani et al. 2017, arXiv 1706.03762; BART, 1910.13461."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import dropout

from search_space.architecture import Architecture
from search_space.encoder_decoder_architecture import EncoderDecoderArchitecture, Initialisation
from steeplechase.models.activation_checkpointing import ActivationCheckpointing, possible_mode, run_checkpointed
from steeplechase.models.attention_context import DecodingContext, Source
from steeplechase.models.block import Block
from steeplechase.models.convolution import PaddingMask
from steeplechase.models.encoder import Embeddings, Encoder
from steeplechase.models.heads.masked_language_model import TokenBias
from steeplechase.models.initialisation import truncated_normal
from steeplechase.models.kernels.vocabulary_cross_entropy import smoothed_cross_entropy, vocabulary_logits
from steeplechase.models.norm import norm_of
from steeplechase.models.precision import to_autocast_dtype, to_float32
from steeplechase.models.sublayer.attention import Sublayer as SelfAttention


class ScaledEmbeddings(Embeddings):
    """Token embeddings times a factor, plus positions, then a norm where the architecture has one."""

    def __init__(self, architecture: Architecture, scale: float) -> None:
        super().__init__(architecture)
        self.scale = scale

    def forward(
        self,
        tokens: Int[Tensor, "batch seq"],
        segments: Int[Tensor, "batch seq"] | None = None,
        first: int = 0,
        places: Int[Tensor, "batch seq"] | None = None,
        reach: int | None = None,
    ) -> Float[Tensor, "batch seq embedding"]:
        """Return the embedded tokens at their places, by default from `first` on; there are no segments.

        All places are below `reach`, which is asked of them where the caller does not know it.
        """
        if places is None:
            positions = self.positions_from(first, tokens.shape[1])
        else:
            table = self.positions(int(places.max()) + 1 if reach is None else reach)
            positions = table[places] if isinstance(table, Tensor) else table
        embedded = self.tokens(tokens) * self.scale + positions
        summed: Tensor = embedded if self.norm is None else self.norm(embedded)
        return summed


class Decoder(nn.Module):
    """The stack of the target: embeddings with positions of their own, then blocks that read the source."""

    def __init__(
        self,
        architecture: EncoderDecoderArchitecture,
        dropout_rate: float,
        tokens: nn.Embedding | None,
        activation_checkpointing: ActivationCheckpointing,
    ) -> None:
        super().__init__()
        self.dropout_rate = dropout_rate
        self.embeddings = ScaledEmbeddings(architecture, architecture.embedding_scale)
        if tokens is not None:
            self.embeddings.tokens = tokens
        normalisation = architecture.normalisation
        self.blocks = nn.ModuleList(
            Block(declaration, normalisation, dropout_rate, first=not number)
            for number, declaration in enumerate(architecture.decoder_blocks)
        )
        self.activation_checkpointing = possible_mode(activation_checkpointing, self.blocks)
        self.final_norm = norm_of(normalisation, architecture.width) if normalisation.has_final_norm else None

    def forward(
        self,
        tokens: Int[Tensor, "batch seq"],
        context: DecodingContext,
        places: Int[Tensor, "batch seq"] | None = None,
        reach: int | None = None,
    ) -> Float[Tensor, "batch seq width"]:
        """Return a vector per token; `places` are the positions of the tokens, from the first on by default.

        They are below `reach`, where that is given.
        """
        embedded = self.embeddings(tokens, None, 0, places, reach)
        x = to_autocast_dtype(dropout(embedded, self.dropout_rate, self.training))
        for block in self.blocks:
            x = _decoded(self.activation_checkpointing, block, x, context)
        return x if self.final_norm is None else to_autocast_dtype(self.final_norm(x))


class EncoderDecoder(Encoder):
    """Both stacks with the output layer. The encoder has the names of an encoder alone."""

    architecture: EncoderDecoderArchitecture

    def __init__(
        self,
        architecture: EncoderDecoderArchitecture,
        dropout_rate: float,
        activation_checkpointing: ActivationCheckpointing = "none",
    ) -> None:
        embeddings = ScaledEmbeddings(architecture, architecture.embedding_scale)
        super().__init__(architecture, dropout_rate, embeddings, activation_checkpointing)
        tying, size = architecture.embedding_tying, (architecture.vocabulary_size, architecture.width)
        shared = embeddings.tokens if tying in ("all", "inputs") else None
        self.decoder = Decoder(architecture, dropout_rate, shared, activation_checkpointing)
        self.output_table = None if tying in ("all", "target") else nn.Embedding(*size)
        self.output_bias = TokenBias(architecture.vocabulary_size) if architecture.output_bias else None

    def initialise_weight(self, layer: nn.Linear | nn.Embedding, generator: torch.Generator) -> None:
        """Set a weight as the architecture declares."""
        initialise_weight(self.architecture.initialisation, layer, generator)

    def encode(self, tokens: Int[Tensor, "batch source"], padding_mask: PaddingMask = None) -> Source:
        """Return the encoded source."""
        return Source(super().forward(tokens, None, padding_mask), padding_mask)

    def forward(
        self,
        tokens: Int[Tensor, "batch seq"],
        segments: Int[Tensor, "batch seq"] | None = None,
        padding_mask: PaddingMask = None,
    ) -> Float[Tensor, "batch seq width"]:
        """Return the decoder's vectors where source and target are the same text (BART, section 3.1).

        The vector of the last token has read the whole text.
        """
        context = DecodingContext(self.encode(tokens, padding_mask), padding_mask)
        states: Tensor = self.decoder(tokens, context)
        return states

    def logits(self, x: Float[Tensor, "... width"]) -> Float[Tensor, "... vocab"]:
        """Return the logits over the vocabulary, in float32."""
        bias = None if self.output_bias is None else self.output_bias.bias
        return to_float32(vocabulary_logits(x, self.table, bias))

    @property
    def table(self) -> Float[Tensor, "vocab width"]:
        """The weights of the output layer."""
        table = self.decoder.embeddings.tokens if self.output_table is None else self.output_table
        weight: Tensor = table.weight
        return weight

    def target_logits(
        self,
        source: Int[Tensor, "batch source"],
        source_mask: PaddingMask,
        target: Int[Tensor, "batch target"],
        target_mask: PaddingMask = None,
    ) -> Float[Tensor, "batch target vocab"]:
        """Return at every token of the target the logits of the next one."""
        context = DecodingContext(self.encode(source, source_mask), target_mask)
        return self.logits(self.decoder(target, context))


def target_loss(
    model: EncoderDecoder,
    states: Float[Tensor, "batch target width"],
    targets: Int[Tensor, "batch target"],
    label_smoothing: float = 0.0,
    rows: Int[Tensor, " predicted"] | None = None,
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy in nats over the predicted tokens, 0 without any.

    Targets below 0 are not predicted: their states are left out before the output layer. `rows` are the numbers of
    the others among all, where the host knows them, so that it need not ask an accelerator.
    """
    if rows is None:
        predicted = targets >= 0
        x, tokens = states[predicted], targets[predicted]
    else:
        x, tokens = states.flatten(0, 1)[rows], targets.flatten()[rows]
    if not len(tokens):
        return states.sum() * 0.0
    table = model.table
    bias = table.new_zeros(len(table)) if model.output_bias is None else model.output_bias.bias
    return smoothed_cross_entropy(x, table, bias, tokens, label_smoothing)


def initialise_weight(rule: Initialisation, layer: nn.Linear | nn.Embedding, generator: torch.Generator) -> None:
    """Set a weight by a rule (`glorot`, as fairseq's TransformerModel: xavier_uniform and width ** -0.5)."""
    if rule == "truncated_normal":
        truncated_normal(layer.weight, generator)
    elif isinstance(layer, nn.Linear):
        nn.init.xavier_uniform_(layer.weight, generator=generator)
    else:
        nn.init.normal_(layer.weight, std=layer.embedding_dim**-0.5, generator=generator)


def _decoded(mode: ActivationCheckpointing, block: nn.Module, x: Tensor, context: DecodingContext) -> Tensor:
    if mode == "none":
        assert isinstance(block, Block)
        return block.decode(x, context)
    return run_checkpointed(mode, _Decoding(block, context), x)


class _Decoding(nn.Module):
    """A block as a function of its input, for activation checkpointing."""

    def __init__(self, block: nn.Module, context: DecodingContext) -> None:
        super().__init__()
        self.block, self.context = block, context

    def forward(self, x: Tensor) -> Tensor:
        """Return the block's output."""
        assert isinstance(self.block, Block)
        return self.block.decode(x, self.context)


class SourceEncoder(Encoder):
    """An encoder whose embeddings are scaled and whose weights are initialised as a pretrained model's.

    BART, Lewis et al. 2019, arXiv 1910.13461, section 3.4.
    """

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

"""An encoder with the head of a task, or with a BiLSTM on its hidden states. Devlin et al. 2018, arXiv 1810.04805.

The heads are those of section 4; the BiLSTM, on a frozen encoder or one that is trained with it, of 5.1 and 5.3.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, mse_loss
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from search_space.architecture import Architecture
from steeplechase.models.build_encoder import build_encoder
from steeplechase.models.encoder import Encoder, hidden_states
from steeplechase.models.feature_layers import WEIGHTED, Features, layers_read
from steeplechase.models.heads.classification import (
    NO_TAG,
    ChoiceHead,
    ClassificationHead,
    Pooling,
    SpanHead,
    TagHead,
)
from steeplechase.models.precision import to_float32

Form = Literal["single", "pair", "span", "windows", "choice", "tags"]
Head = ClassificationHead | ChoiceHead | SpanHead | TagHead


class FineTuned(nn.Module):
    """An encoder with a head: a label, a value or a choice per example, a tag per word, or an answer span."""

    def __init__(self, encoder: Encoder, head: Head, outputs: int) -> None:
        super().__init__()
        self.encoder, self.head, self.outputs = encoder, head, outputs

    def forward(
        self,
        tokens: Int[Tensor, "sequences seq"],
        segments: Int[Tensor, "sequences seq"],
        padding_mask: Bool[Tensor, "sequences seq"] | None,
    ) -> Float[Tensor, "batch ..."]:
        """Return logits: [batch labels], [batch seq tags], or [batch seq 2] for spans, with padding masked.

        An example is one sequence; of a multiple choice, one per ending, and logits are [batch endings].
        """
        return self.answer(self.encoded(tokens, segments, padding_mask), padding_mask)

    def answer(
        self, x: Float[Tensor, "sequences seq width"], padding_mask: Bool[Tensor, "sequences seq"] | None
    ) -> Float[Tensor, "batch ..."]:
        """Return the logits of what the head reads."""
        padding_mask = every_token(x) if padding_mask is None else padding_mask
        if isinstance(self.head, SpanHead):
            boundaries: Tensor = to_float32(self.head(x))
            return boundaries.masked_fill(~padding_mask[..., None], -1e4)
        logits: Tensor = to_float32(self.head(x) if isinstance(self.head, TagHead) else self.head(x, padding_mask))
        return logits

    def encoded(
        self,
        tokens: Int[Tensor, "sequences seq"],
        segments: Int[Tensor, "sequences seq"],
        padding_mask: Bool[Tensor, "sequences seq"] | None,
    ) -> Float[Tensor, "sequences seq width"]:
        """Return what the head reads: one vector per token."""
        x: Tensor = self.encoder(tokens, segments, padding_mask)
        return x

    def loss(
        self,
        tokens: Int[Tensor, "sequences seq"],
        segments: Int[Tensor, "sequences seq"],
        padding_mask: Bool[Tensor, "sequences seq"] | None,
        answers: Shaped[Tensor, "batch columns"],
    ) -> Float[Tensor, ""]:
        """Return the mean cross-entropy in nats, of tags over words; for a regression task the mean squared error.

        `answers` holds a label, a value, a start and an end, or the tag of every token.
        """
        return self.loss_of(self(tokens, segments, padding_mask), answers)

    def loss_of(
        self, logits: Float[Tensor, "batch ..."], answers: Shaped[Tensor, "batch columns"]
    ) -> Float[Tensor, ""]:
        """Return the mean loss of the logits over the examples, in nats or squared units of the value."""
        if isinstance(self.head, SpanHead):
            return (cross_entropy(logits[..., 0], answers[:, 0]) + cross_entropy(logits[..., 1], answers[:, 1])) / 2
        if isinstance(self.head, TagHead):
            total = cross_entropy(logits.flatten(0, 1), answers.flatten(), ignore_index=NO_TAG, reduction="sum")
            return total / (answers != NO_TAG).sum().clamp_min(1)
        if self.outputs == 1:
            return mse_loss(logits[:, 0], answers[:, 0])
        return cross_entropy(logits, answers[:, 0])


def every_token(x: Shaped[Tensor, "sequences seq *sizes"]) -> Bool[Tensor, "sequences seq"]:
    """Return the padding mask of sequences without padding."""
    return torch.ones(x.shape[:2], dtype=torch.bool, device=x.device)


def build_fine_tuned(
    architecture: Architecture, form: Form, outputs: int, pooling: Pooling, dropout_rate: float
) -> FineTuned:
    """Return an encoder with the head of the task's form.

    `outputs` is the number of labels, tags or endings, 1 for regression. Span and tag heads ignore `pooling`.
    """
    encoder = build_encoder(architecture, dropout_rate)
    if form in ("span", "windows"):
        return FineTuned(encoder, SpanHead(architecture.width), 2)
    if form == "tags":
        return FineTuned(encoder, TagHead(architecture.width, outputs, dropout_rate), outputs)
    if form == "choice":
        return FineTuned(encoder, ChoiceHead(architecture.width, outputs, pooling, dropout_rate), outputs)
    return FineTuned(encoder, ClassificationHead(architecture.width, outputs, pooling, dropout_rate), outputs)


class ScalarMix(nn.Module):
    """Weighted sum of layers: softmax weights and one factor, all learned. Peters et al. 2018, 1802.05365, eq. 1."""

    def __init__(self, layers: int) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.zeros(layers))
        self.factor = nn.Parameter(torch.ones(1))

    def initialise_parameters(self, generator: torch.Generator) -> None:
        """Begin with the mean of the layers."""
        nn.init.zeros_(self.weights)
        nn.init.ones_(self.factor)

    def forward(self, states: Float[Tensor, "layers batch seq width"]) -> Float[Tensor, "batch seq width"]:
        """Return the weighted sum."""
        mixed: Tensor = self.factor * torch.einsum("l,lbsw->bsw", self.weights.softmax(0), states)
        return mixed


class BiLSTM(nn.LSTM):
    """Bidirectional LSTM over the tokens of each sequence, without padding; all parameters uniform as in torch."""

    def __init__(self, inputs: int, width: int, layers: int, dropout_rate: float) -> None:
        between_layers = dropout_rate if layers > 1 else 0.0
        super().__init__(inputs, width, layers, batch_first=True, bidirectional=True, dropout=between_layers)

    def initialise_parameters(self, generator: torch.Generator) -> None:
        """Draw every parameter uniformly within one over the square root of the width."""
        limit = self.hidden_size**-0.5
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -limit, limit, generator=generator)

    def read(
        self, x: Float[Tensor, "batch seq inputs"], padding_mask: Bool[Tensor, "batch seq"]
    ) -> Float[Tensor, "batch seq outputs"]:
        """Return both directions of every token, concatenated; zeros at padding."""
        packed = pack_padded_sequence(x, padding_mask.sum(1).cpu(), batch_first=True, enforce_sorted=False)
        outputs, _ = pad_packed_sequence(self(packed)[0], batch_first=True, total_length=x.shape[1])
        return outputs


@dataclass(frozen=True)
class FeatureReader:
    """Which hidden states the BiLSTM reads, its sizes, and whether it is trained alone."""

    features: Features
    width: int
    """Of each direction of the BiLSTM."""
    layers: int
    trains_encoder: bool = False
    """Whether the encoder is trained together with the BiLSTM (Table 5), and not frozen (Table 7)."""


class FeatureModel(FineTuned):
    """An encoder, a BiLSTM on its hidden states and a head on that; all are trained."""

    def __init__(
        self, encoder: Encoder, reader: FeatureReader, lstm_dropout: float, head: Head, outputs: int
    ) -> None:
        super().__init__(encoder, head, outputs)
        self.layers = layers_read(reader.features, len(encoder.blocks))
        self.mix = ScalarMix(len(self.layers)) if reader.features in WEIGHTED else None
        inputs = feature_width(encoder.architecture, reader.features)
        self.lstm = BiLSTM(inputs, reader.width, reader.layers, lstm_dropout)

    def encoded(
        self,
        tokens: Int[Tensor, "batch seq"],
        segments: Int[Tensor, "batch seq"],
        padding_mask: Bool[Tensor, "batch seq"] | None,
    ) -> Float[Tensor, "batch seq outputs"]:
        """Return the outputs of the BiLSTM."""
        padding_mask = every_token(tokens) if padding_mask is None else padding_mask
        states = hidden_states(self.encoder, tokens, segments, padding_mask)
        with torch.autocast(tokens.device.type, enabled=False):
            return self.lstm.read(self._features([states[layer].float() for layer in self.layers]), padding_mask)

    def _features(self, states: Sequence[Float[Tensor, "batch seq width"]]) -> Float[Tensor, "batch seq inputs"]:
        return torch.cat([*states], -1) if self.mix is None else self.mix(torch.stack([*states]))


class FrozenFeatures(FeatureModel):
    """The same with a frozen encoder without dropout."""

    def __init__(
        self, encoder: Encoder, reader: FeatureReader, lstm_dropout: float, head: Head, outputs: int
    ) -> None:
        super().__init__(encoder, reader, lstm_dropout, head, outputs)
        encoder.requires_grad_(False)

    def train(self, mode: bool = True) -> "FrozenFeatures":
        """Set the mode of all parts but the encoder, whose dropout stays off."""
        super().train(mode)
        self.encoder.eval()
        return self


def feature_width(architecture: Architecture, features: Features) -> int:
    """Return the width of the features of one token."""
    layers = 1 if features in WEIGHTED else len(layers_read(features, architecture.depth))
    return layers * architecture.width


def build_feature_model(
    architecture: Architecture, form: Form, outputs: int, reader: FeatureReader, pooling: Pooling, dropout_rate: float
) -> FeatureModel:
    """Return an encoder whose hidden states a BiLSTM reads, with the head of the task's form.

    `outputs` and `pooling` are those of `build_fine_tuned`. A multiple choice has no such head.
    """
    assert form != "choice"
    width = 2 * reader.width
    head: Head
    if form in ("span", "windows"):
        head, outputs = SpanHead(width), 2
    elif form == "tags":
        head = TagHead(width, outputs, dropout_rate)
    else:
        head = ClassificationHead(width, outputs, pooling, dropout_rate)
    if reader.trains_encoder:
        return FeatureModel(Encoder(architecture, dropout_rate), reader, dropout_rate, head, outputs)
    return FrozenFeatures(Encoder(architecture, 0.0), reader, dropout_rate, head, outputs)

"""A BiLSTM on hidden states of an encoder, frozen or trained with it. Devlin et al. 2018, 1810.04805, 5.1 and 5.3."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from search_space.architecture import Architecture
from steeplechase.models.downstream_model import FineTuned, Form, Head, every_token
from steeplechase.models.encoder import Encoder
from steeplechase.models.feature_layers import WEIGHTED, Features, layers_read
from steeplechase.models.heads.classification import ClassificationHead, Pooling, SpanHead, TagHead
from steeplechase.models.hidden_states import hidden_states


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

"""A task on features of a frozen encoder: a BiLSTM reads its hidden states. Devlin et al. 2018, 1810.04805, 5.3."""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from models.downstream_model import FineTuned, Head
from models.encoder import Encoder
from models.feature_layers import WEIGHTED, Features, layers_read
from models.heads.classification import ClassificationHead, Pooling
from models.heads.tags import TagHead
from models.hidden_states import hidden_states
from search_space.architecture import Architecture


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


class FrozenFeatures(FineTuned):
    """A frozen encoder without dropout; a BiLSTM and a linear head on its hidden states are trained."""

    def __init__(self, encoder: Encoder, features: Features, lstm: BiLSTM, head: Head, outputs: int) -> None:
        super().__init__(encoder, head, outputs)
        self.layers = layers_read(features, len(encoder.blocks))
        self.mix = ScalarMix(len(self.layers)) if features in WEIGHTED else None
        self.lstm = lstm
        encoder.requires_grad_(False)

    def train(self, mode: bool = True) -> "FrozenFeatures":
        """Set the mode of all parts but the encoder, whose dropout stays off."""
        super().train(mode)
        self.encoder.eval()
        return self

    def encoded(
        self,
        tokens: Int[Tensor, "batch seq"],
        segments: Int[Tensor, "batch seq"],
        padding_mask: Bool[Tensor, "batch seq"],
    ) -> Float[Tensor, "batch seq outputs"]:
        """Return the outputs of the BiLSTM."""
        states = hidden_states(self.encoder, tokens, segments, padding_mask)
        with torch.autocast(tokens.device.type, enabled=False):
            return self.lstm.read(self._features([states[layer].float() for layer in self.layers]), padding_mask)

    def _features(self, states: Sequence[Float[Tensor, "batch seq width"]]) -> Float[Tensor, "batch seq inputs"]:
        return torch.cat([*states], -1) if self.mix is None else self.mix(torch.stack([*states]))


def feature_width(architecture: Architecture, features: Features) -> int:
    """Return the width of the features of one token."""
    layers = 1 if features in WEIGHTED else len(layers_read(features, architecture.depth))
    return layers * architecture.width


def build_tagger(
    architecture: Architecture, outputs: int, features: Features, lstm: tuple[int, int], dropout_rate: float
) -> FrozenFeatures:
    """Return a tagger of words; `lstm` is the width of each direction and the number of layers."""
    bilstm = BiLSTM(feature_width(architecture, features), *lstm, dropout_rate)
    head = TagHead(2 * lstm[0], outputs, dropout_rate)
    return FrozenFeatures(Encoder(architecture, 0.0), features, bilstm, head, outputs)


def build_classifier(
    architecture: Architecture,
    outputs: int,
    features: Features,
    lstm: tuple[int, int],
    pooling: Pooling,
    dropout_rate: float,
) -> FrozenFeatures:
    """Return a classifier of sequences, or a regression with one output; `lstm` as in `build_tagger`."""
    bilstm = BiLSTM(feature_width(architecture, features), *lstm, dropout_rate)
    head = ClassificationHead(2 * lstm[0], outputs, pooling, dropout_rate)
    return FrozenFeatures(Encoder(architecture, 0.0), features, bilstm, head, outputs)

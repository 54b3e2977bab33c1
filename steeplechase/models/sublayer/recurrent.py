"""An LSTM over the tokens as a sublayer. Hochreiter and Schmidhuber 1997."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from search_space.sublayer.recurrent import Recurrent
from steeplechase.models.attention_context import NO_CONTEXT, AttentionContext
from steeplechase.models.convolution import PaddingMask
from steeplechase.models.initialisation import truncated_normal
from steeplechase.models.precision import to_autocast_dtype, without_autocast


class RecurrentWeights(nn.LSTM):
    """torch's LSTM with this project's initialisation: matrices as every linear map, biases zero."""

    def initialise_parameters(self, generator: torch.Generator) -> None:
        """Set all weights."""
        for _, parameter in sorted(self.named_parameters()):
            if parameter.ndim > 1:
                truncated_normal(parameter, generator)
            else:
                nn.init.zeros_(parameter)


class Sublayer(nn.Module):
    """An LSTM in each visible direction, then a linear map where its width is not the model's."""

    def __init__(self, declaration: Recurrent, dropout_rate: float) -> None:
        super().__init__()
        both = declaration.visibility == "bidirectional"
        self.backwards = declaration.visibility == "right_to_left"
        self.layer = RecurrentWeights(
            declaration.width, declaration.hidden_width, batch_first=True, bidirectional=both
        )
        differs = declaration.output_width != declaration.width
        self.output = nn.Linear(declaration.output_width, declaration.width) if differs else None

    def forward(
        self,
        x: Float[Tensor, "batch seq width"],
        padding_mask: PaddingMask = None,
        context: AttentionContext = NO_CONTEXT,
    ) -> Float[Tensor, "batch seq width"]:
        """Return the states of all tokens. Padding comes last in every row and is not read."""
        x = x.flip(1) if self.backwards else x
        if x.device.type == "cpu":
            states = self._states(x, padding_mask)
        else:  # CUDA's autocast computes an LSTM in float16, which needs loss scaling
            with without_autocast(x.device):
                states = self._states(x.float(), padding_mask)
            states = to_autocast_dtype(states)
        states = states.flip(1) if self.backwards else states
        return states if self.output is None else self.output(states)

    def _states(
        self, x: Float[Tensor, "batch seq width"], padding_mask: PaddingMask
    ) -> Float[Tensor, "batch seq hidden"]:
        if padding_mask is None:
            states: Tensor = self.layer(x)[0]
            return states
        if self.backwards:  # padding comes first now
            return self._after_padding(x, padding_mask.flip(1))
        lengths = padding_mask.sum(1).clamp_min(1).cpu()
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        return pad_packed_sequence(self.layer(packed)[0], batch_first=True, total_length=x.shape[1])[0]

    def _after_padding(
        self, x: Float[Tensor, "batch seq width"], padding_mask: Tensor
    ) -> Float[Tensor, "batch seq hidden"]:
        """Return the states of rows whose padding comes first: each row is moved to its start and back."""
        lengths = padding_mask.sum(1)
        order = (torch.arange(x.shape[1], device=x.device)[None] - lengths[:, None]) % x.shape[1]
        inverse = order.argsort(1)
        moved = x.gather(1, order[..., None].expand_as(x))
        packed = pack_padded_sequence(moved, lengths.clamp_min(1).cpu(), batch_first=True, enforce_sorted=False)
        states = pad_packed_sequence(self.layer(packed)[0], batch_first=True, total_length=x.shape[1])[0]
        return states.gather(1, inverse[..., None].expand_as(states))

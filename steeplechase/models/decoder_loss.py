"""Cross-entropy of a decoder's predicted tokens, through its output layer."""

from jaxtyping import Float, Int
from torch import Tensor

from steeplechase.models.encoder_decoder import EncoderDecoder
from steeplechase.models.kernels.vocabulary_cross_entropy import smoothed_cross_entropy


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

"""Cross-entropy of predicted tokens: of a decoder's targets, and of a task's examples beside the task.

The second is L3 = L2 + λ L1 of GPT: Radford et al. 2018, section 3.2.
"""

from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from steeplechase.models.downstream_model import FineTuned, Head
from steeplechase.models.encoder import Encoder
from steeplechase.models.encoder_decoder import EncoderDecoder
from steeplechase.models.kernels.vocabulary_cross_entropy import smoothed_cross_entropy
from steeplechase.models.output_layer import OutputHead


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


class WithLanguageModel(FineTuned):
    """A fine-tuned model that also predicts the tokens of its examples, from the tokens on their visible side."""

    def __init__(self, encoder: Encoder, head: Head, outputs: int, output_layer: OutputHead, weight: float) -> None:
        super().__init__(encoder, head, outputs)
        self.output_layer, self.weight = output_layer, weight
        self.left_to_right = encoder.architecture.visibility == "left_to_right"

    def loss(
        self,
        tokens: Int[Tensor, "sequences seq"],
        segments: Int[Tensor, "sequences seq"],
        padding_mask: Bool[Tensor, "sequences seq"] | None,
        answers: Shaped[Tensor, "batch columns"],
    ) -> Float[Tensor, ""]:
        """Return the task's loss plus the weighted mean cross-entropy of the tokens, both in nats.

        Every token but the first is predicted (reading right to left, but the last), special tokens included, padding
        excluded, as in GPT's code.
        """
        x = self.encoded(tokens, segments, padding_mask)
        own = self.loss_of(self.answer(x, padding_mask), answers)
        predicting, predicted = (x[:, :-1], tokens[:, 1:]) if self.left_to_right else (x[:, 1:], tokens[:, :-1])
        table = self.encoder.embeddings.tokens.weight
        if padding_mask is None:
            read, targets = predicting.flatten(0, 1), predicted.flatten()
        else:
            inside = padding_mask[:, 1:]
            read, targets = predicting[inside], predicted[inside]
        if not len(targets):
            return own + x.sum() * 0.0
        return own + self.weight * self.output_layer.loss(read, table, targets)[0]

"""Language modelling beside a downstream task. Radford et al. 2018 (GPT), section 3.2: L3 = L2 + λ L1."""

from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from steeplechase.models.downstream_model import FineTuned, Head
from steeplechase.models.encoder import Encoder
from steeplechase.models.output_layer import OutputHead


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

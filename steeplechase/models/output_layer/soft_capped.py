"""BERT's output layer with bounded logits."""

from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import cross_entropy

from search_space.architecture import Architecture
from search_space.output_layer import SoftCapped
from steeplechase.models.heads.masked_language_model import MaskedLanguageModelHead
from steeplechase.models.kernels.vocabulary_cross_entropy import Uniforms, sample_tokens
from steeplechase.models.output_layer import OutputHead
from steeplechase.models.precision import to_float32


class Head(MaskedLanguageModelHead):
    """The head of masked language modelling, whose logits are between minus and plus the cap."""

    def __init__(self, option: SoftCapped, architecture: Architecture) -> None:
        super().__init__(architecture)
        self.cap = option.cap

    def forward(
        self, x: Float[Tensor, "predicted width"], table: Float[Tensor, "vocab embedding"]
    ) -> Float[Tensor, "predicted vocab"]:
        """Return logits over the vocabulary."""
        return self.cap * (to_float32(super().forward(x, table)) / self.cap).tanh()

    def loss(
        self,
        x: Float[Tensor, "predicted width"],
        table: Float[Tensor, "vocab embedding"],
        targets: Int[Tensor, " predicted"],
        uniforms: Uniforms = None,
    ) -> tuple[Float[Tensor, ""], Int[Tensor, " predicted"]]:
        """Return the mean cross-entropy in nats, and tokens sampled at the uniform numbers; logits are stored."""
        logits = self(x, table)
        return cross_entropy(logits, targets), targets if uniforms is None else sample_tokens(
            logits.detach(), uniforms
        )


def build(option: SoftCapped, architecture: Architecture) -> OutputHead:
    """Return the head whose logits are bounded by the option's cap."""
    return Head(option, architecture)

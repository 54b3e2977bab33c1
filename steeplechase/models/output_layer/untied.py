"""A linear map to the vocabulary with weights of its own; the embedding table is not read."""

from jaxtyping import Float, Int
from torch import Tensor, nn

from search_space.architecture import Architecture
from search_space.output_layer.option import OutputLayerOption
from steeplechase.models.kernels.vocabulary_cross_entropy import Uniforms, vocabulary_cross_entropy, vocabulary_logits
from steeplechase.models.output_layer import OutputHead


class Head(OutputHead):
    """A weight per channel and token, and a bias per token."""

    def __init__(self, architecture: Architecture) -> None:
        super().__init__()
        self.words = nn.Linear(architecture.width, architecture.vocabulary_size)

    def forward(
        self, x: Float[Tensor, "predicted width"], table: Float[Tensor, "vocab embedding"]
    ) -> Float[Tensor, "predicted vocab"]:
        """Return logits over the vocabulary."""
        return vocabulary_logits(x, self.words.weight, self.words.bias)

    def loss(
        self,
        x: Float[Tensor, "predicted width"],
        table: Float[Tensor, "vocab embedding"],
        targets: Int[Tensor, " predicted"],
        uniforms: Uniforms = None,
    ) -> tuple[Float[Tensor, ""], Int[Tensor, " predicted"]]:
        """Return the mean cross-entropy in nats, and tokens sampled at the uniform numbers."""
        return vocabulary_cross_entropy(x, self.words.weight, self.words.bias, targets, uniforms)


def build(option: OutputLayerOption, architecture: Architecture) -> OutputHead:
    """Return the head."""
    return Head(architecture)

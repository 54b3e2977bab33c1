"""From the vectors that predict to probabilities of tokens: one file per option of `search_space.output_layer`."""

from abc import abstractmethod

from jaxtyping import Float, Int
from torch import Tensor, nn

from search_space.architecture import Architecture
from search_space.output_layer.option import OutputLayerOption
from steeplechase.foundation.option_modules import module_of
from steeplechase.models.kernels.vocabulary_cross_entropy import Uniforms


class OutputHead(nn.Module):
    """Base class: each file of this folder has `build(option, architecture)`, which returns a subclass."""

    @abstractmethod
    def forward(
        self, x: Float[Tensor, "predicted width"], table: Float[Tensor, "vocab embedding"]
    ) -> Float[Tensor, "predicted vocab"]:
        """Return logits over the vocabulary, whose softmax is the probability of each token."""

    @abstractmethod
    def loss(
        self,
        x: Float[Tensor, "predicted width"],
        table: Float[Tensor, "vocab embedding"],
        targets: Int[Tensor, " predicted"],
        uniforms: Uniforms = None,
    ) -> tuple[Float[Tensor, ""], Int[Tensor, " predicted"]]:
        """Return the mean cross-entropy in nats, and tokens sampled at the uniform numbers."""


def build_output_layer(option: OutputLayerOption, architecture: Architecture) -> OutputHead:
    """Return the module of an option."""
    module: OutputHead = module_of(option).build(option, architecture)
    return module

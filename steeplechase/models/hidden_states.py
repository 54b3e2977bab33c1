"""Hidden states of an encoder, layer by layer."""

from typing import Any

from jaxtyping import Float, Int
from torch import Tensor, nn

from steeplechase.models.convolution import PaddingMask
from steeplechase.models.encoder import Encoder


def hidden_states(
    encoder: Encoder,
    tokens: Int[Tensor, "batch seq"],
    segments: Int[Tensor, "batch seq"] | None,
    padding_mask: PaddingMask,
) -> list[Float[Tensor, "batch seq width"]]:
    """Return the input of the first block and the output of every block; a frozen encoder's have no gradients."""
    states: list[Tensor] = []

    def record_input(module: nn.Module, inputs: tuple[Any, ...]) -> None:
        states.append(inputs[0])

    def record_output(module: nn.Module, inputs: tuple[Any, ...], output: Tensor) -> None:
        states.append(output)

    hooks = [encoder.blocks[0].register_forward_pre_hook(record_input)]
    hooks += [block.register_forward_hook(record_output) for block in encoder.blocks]
    try:
        encoder(tokens, segments, padding_mask)
    finally:
        for hook in hooks:
            hook.remove()
    return [x.clone() for x in states]

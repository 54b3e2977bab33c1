"""What a forward pass saves for the backward pass: chosen by activation checkpointing, and measured in bytes.

Chen et al. 2016, arXiv 1604.06174; a block's other values are computed again.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

ActivationCheckpointing = Literal["none", "selective", "full"]

_aten = torch.ops.aten
MATRIX_PRODUCTS = frozenset(
    {
        _aten.mm.default,
        _aten.addmm.default,
        _aten.bmm.default,
        _aten.baddbmm.default,  # maps in groups
        _aten._scaled_dot_product_flash_attention_for_cpu.default,
        _aten._scaled_dot_product_flash_attention.default,
        _aten._scaled_dot_product_efficient_attention.default,
        _aten._scaled_dot_product_cudnn_attention.default,
    }
)


def possible_mode(mode: ActivationCheckpointing, stack: nn.Module, sharing: bool = False) -> ActivationCheckpointing:
    """Return the mode in which a stack is computed: full for selective beside a recurrent layer, or with `sharing`.

    Torch's LSTM over sequences with padding changes its matrix products in place, so that they cannot be saved; and
    autocast casts a weight that several blocks share in the first of them alone, but in each that is computed again.
    """
    selectable = not sharing and not any(isinstance(each, nn.RNNBase) for each in stack.modules())
    return mode if mode != "selective" or selectable else "full"


def run_checkpointed(mode: ActivationCheckpointing, block: nn.Module, *inputs: object) -> Tensor:
    """Return the block's output. Values that are not saved are recomputed in the backward pass, bitwise equal."""
    if mode == "none" or not torch.is_grad_enabled():
        output: Tensor = block(*inputs)
        return output
    if mode == "full":
        recomputed: Tensor = checkpoint(block, *inputs, use_reentrant=False)
        return recomputed
    selective = partial(create_selective_checkpoint_contexts, _policy)
    partly_recomputed: Tensor = checkpoint(block, *inputs, use_reentrant=False, context_fn=selective)
    return partly_recomputed


def _policy(_context: Any, operator: Any, *_arguments: Any, **_named: Any) -> CheckpointPolicy:
    return CheckpointPolicy.MUST_SAVE if operator in MATRIX_PRODUCTS else CheckpointPolicy.PREFER_RECOMPUTE


def saved_bytes(
    forward: Callable[[], Tensor | tuple[Tensor, ...]], without: Iterable[Tensor] = (), *, output: bool = True
) -> int:
    """Return the bytes that a forward pass saves, each storage once, those of `without` not counted.

    Outputs are counted where they are saved, unless `output` is false. Raises ValueError where none has a gradient.
    """
    outside = {tensor.untyped_storage().data_ptr() for tensor in without}
    sizes: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in outside:
            sizes[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        result = forward()  # held here, so that nothing is freed before it is counted
    outputs = (result,) if isinstance(result, Tensor) else result
    if not any(each.requires_grad for each in outputs):
        raise ValueError("no output has a gradient, so that a forward pass saves nothing")
    if not output:
        for each in outputs:
            sizes.pop(each.untyped_storage().data_ptr(), None)
    return sum(sizes.values())

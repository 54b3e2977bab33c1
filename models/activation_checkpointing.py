"""What training keeps of a block for its backward pass and what it computes again. Chen et al. 2016, 1604.06174."""

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
        _aten._scaled_dot_product_flash_attention_for_cpu.default,
        _aten._scaled_dot_product_flash_attention.default,
        _aten._scaled_dot_product_efficient_attention.default,
    }
)


def run_checkpointed(kept: ActivationCheckpointing, block: nn.Module, *inputs: Tensor | None) -> Tensor:
    """Return the block's output. What is not kept is computed again in the backward pass, to the same bits."""
    if kept == "none" or not torch.is_grad_enabled():
        output: Tensor = block(*inputs)
        return output
    if kept == "full":
        again: Tensor = checkpoint(block, *inputs, use_reentrant=False)
        return again
    selective = partial(create_selective_checkpoint_contexts, _policy)
    partly: Tensor = checkpoint(block, *inputs, use_reentrant=False, context_fn=selective)
    return partly


def _policy(_context: Any, operator: Any, *_arguments: Any, **_named: Any) -> CheckpointPolicy:
    return CheckpointPolicy.MUST_SAVE if operator in MATRIX_PRODUCTS else CheckpointPolicy.PREFER_RECOMPUTE

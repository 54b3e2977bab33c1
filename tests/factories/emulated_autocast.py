"""Autocast of the emulated device, by CUDA's lists (ATen/autocast_mode.h)."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from tests.factories.emulated_device import EmulatedTensor, mapped, tensors_in

LOWER = (
    *("_convolution", "conv1d", "conv2d", "mm", "addmm", "matmul", "mv", "addmv", "bmm", "baddbmm", "addbmm"),
    *("linear", "einsum", "chain_matmul", "prelu", "lstm_cell", "gru_cell", "_thnn_fused_lstm_cell"),
)
FULL = (
    *("acos", "asin", "cosh", "exp", "expm1", "log", "log10", "log2", "log1p", "reciprocal", "rsqrt", "sinh", "tan"),
    *("pow", "softplus", "layer_norm", "native_layer_norm", "group_norm", "cosine_similarity", "nll_loss"),
    *("kl_div", "l1_loss", "smooth_l1_loss", "mse_loss", "binary_cross_entropy_with_logits", "dist", "logsumexp"),
)
FULL_RESULT = ("prod", "softmax", "log_softmax", "cumprod", "cumsum", "sum", "linalg_vector_norm")
PROMOTED = ("addcdiv", "addcmul", "atan2", "bilinear", "cross", "dot", "index_put", "tensordot", "scatter_add")
CAST_WEIGHTS: dict[int, tuple[Tensor, Tensor]] = {}
"""Autocast's cache: a weight is cast once within the outermost context."""
_LIBRARIES: list[torch.library.Library] = []


def register_autocast() -> None:
    fallthrough = torch.library.Library("_", "IMPL", "AutocastPrivateUse1")
    fallthrough.fallback(torch.library.fallthrough_kernel)
    own = torch.library.Library("aten", "IMPL", "AutocastPrivateUse1")
    _LIBRARIES.extend((fallthrough, own))  # which end with what refers to them
    policies = {"lower": LOWER, "full": FULL, "result": FULL_RESULT, "promote": PROMOTED}
    for policy, names in policies.items():
        for name in names:
            packet = getattr(torch.ops.aten, name)
            for overload in (getattr(packet, each) for each in packet.overloads()):
                if not overload._schema.is_mutable and not overload._overloadname.endswith("out"):
                    own.impl(overload.name().partition("::")[2], _autocast(overload, policy))


def _autocast(overload: Any, policy: str) -> Callable[..., Any]:
    key = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastPrivateUse1)
    names = [each.name for each in overload._schema.arguments]

    def run(*args: Any, **kwargs: Any) -> Any:
        with torch._C._ExcludeDispatchKeyGuard(key):
            floats = [each for each in tensors_in((args, kwargs)) if _castable(each)]
            wide = any(each.dtype == torch.float32 for each in floats)
            if policy == "result" and "dtype" in names:
                if kwargs.get("dtype") is None and floats and not wide:
                    kwargs = {**dict(zip(names, args, strict=False)), **kwargs, "dtype": torch.float32}
                    args = ()
            elif policy == "lower" or policy != "promote" or wide:
                to = torch.bfloat16 if policy == "lower" else torch.float32
                args, kwargs = mapped(lambda each: _cast(each, to), (args, kwargs))
            return overload(*args, **kwargs)

    return run


def _castable(leaf: Any) -> bool:
    return isinstance(leaf, EmulatedTensor) and leaf.is_floating_point() and leaf.dtype != torch.float64


def _cast(leaf: Any, to: torch.dtype) -> Any:
    if not _castable(leaf) or leaf.dtype == to:
        return leaf
    if to == torch.bfloat16 and leaf.is_leaf and leaf.requires_grad:
        if id(leaf) not in CAST_WEIGHTS:
            CAST_WEIGHTS[id(leaf)] = (leaf, leaf.to(to))
        return CAST_WEIGHTS[id(leaf)][1]
    return leaf.to(to)

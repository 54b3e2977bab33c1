"""An accelerator without hardware: torch's PrivateUse1 device in Python, whose values are computed on the processor.

It refuses an operator over two devices, casts by CUDA's autocast lists (ATen/autocast_mode.h), and counts what costs
an accelerator time: launched kernels and the host's waits for the device.
A multi-tensor operator counts as the launches of its chunks (ATen/native/cuda/MultiTensorApply.cuh).
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

from steeplechase.models.kernels import portable, triton_depthwise, triton_norm, triton_window, window

NAME = "emulated"
WAITING = frozenset(
    {
        *("_local_scalar_dense", "nonzero", "masked_select", "equal", "is_nonzero", "bincount"),
        *("_unique2", "unique_dim", "unique_consecutive"),
    }
)
"""Operators whose result's shape or value the host needs."""
INDEXED = frozenset({"index", "index_put", "index_put_", "_index_put_impl_", "_unsafe_index"})
NO_KERNEL = frozenset(
    {
        *("empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided", "resize_", "set_", "detach"),
        *("alias", "lift_fresh", "_unsafe_view", "_reshape_alias", "is_pinned", "record_stream"),
    }
)
LENGTHS_ON_HOST = ("_pack_padded", "_pad_packed", "lstm", "_thnn")
TENSORS_A_LAUNCH = {1: 110, 2: 64, 3: 48, 4: 36, 5: 30}
"""Of a multi-tensor kernel, by its number of lists."""
CHUNK, BLOCKS = 65_536, 320
"""Elements of a block, and blocks of a launch, of a multi-tensor kernel."""

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


@dataclass
class Counts:
    """What was asked of the device."""

    launches: Counter[str] = field(default_factory=Counter)
    waits: Counter[str] = field(default_factory=Counter)
    """Copies from pageable memory and reads of the device, by kind."""
    halted: int = 0

    @property
    def on(self) -> bool:
        return not self.halted

    def clear(self) -> None:
        """Begin anew."""
        self.launches.clear(), self.waits.clear()


class MixedDevices(RuntimeError):
    """An operator was given tensors of two devices."""


class EmulatedTensor(Tensor):
    """A tensor of the device, whose values are in `host`."""

    host: Tensor

    @staticmethod
    def __new__(cls, host: Tensor) -> "EmulatedTensor":
        made: EmulatedTensor = Tensor._make_wrapper_subclass(  # type: ignore[attr-defined]
            cls,
            host.size(),
            strides=host.stride(),
            storage_offset=host.storage_offset(),
            dtype=host.dtype,
            device=device(),
        )
        made.host = host
        return made

    def __repr__(self) -> str:  # type: ignore[override]
        return f"EmulatedTensor({tuple(self.shape)}, {self.dtype})"

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _computed(func, args, kwargs or {}, Counts())


class _Operators(TorchDispatchMode):
    def __init__(self, counts: Counts) -> None:
        super().__init__()
        self.counts = counts

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _computed(func, args, kwargs or {}, self.counts)


class _Calls(TorchFunctionMode):
    """Calls that reach the device without an operator, and fused ones that processors compute in parts."""

    def __init__(self, counts: Counts) -> None:
        super().__init__()
        self.counts = counts

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is torch.tensor and "device" in kwargs and torch.device(kwargs["device"]).type == NAME:
            return func(*args, **{**kwargs, "device": "cpu"}).to(device())
        if func is torch.nn.functional.scaled_dot_product_attention and isinstance(args[0], EmulatedTensor):
            mask = args[3] if len(args) > 3 else kwargs.get("attn_mask")
            attention = partial(_attention, kwargs.get("is_causal", False))
            return fused(self.counts, "attention", 1, attention, *args[:3], mask)
        first = args[0] if args else None
        if func is Tensor.pin_memory:
            pinned = first.clone()
            pinned.is_page_locked = True
            return pinned
        if isinstance(first, EmulatedTensor):
            if func is Tensor.tolist:
                self.counts.waits["tolist"] += 1
                return first.detach().host.tolist()
            if func is Tensor.__getitem__:
                return func(first, tree_map(_of_device, args[1], is_leaf=lambda leaf: isinstance(leaf, list)))
            if func is Tensor.new_tensor:
                return torch.as_tensor(args[1]).to(first.dtype).clone().to(device())
        return func(*args, **kwargs)


def _of_device(index: Any) -> Any:
    """Return an index as torch makes it of a list or an array: built on the host, then copied."""
    return torch.as_tensor(index).to(device()) if isinstance(index, list | np.ndarray) else index


def _computed(func: Any, args: Any, kwargs: Any, counts: Counts) -> Any:
    name = func._schema.name.partition("::")[2]
    tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
    here = [each for each in tensors if isinstance(each, EmulatedTensor)]
    target = kwargs.get("device")
    to_here = target is not None and torch.device(target).type == NAME
    if not here and not to_here:
        return func(*args, **kwargs)
    result_here = to_here or target is None
    _refuse_mixed(name, args, tensors, here)
    if counts.on:
        _count_waits(name, args, kwargs, counts, result_here)
    on_host = tree_map(lambda leaf: leaf.host if isinstance(leaf, EmulatedTensor) else leaf, (args, kwargs))
    host_args, host_kwargs = on_host
    if to_here:
        host_kwargs = {**host_kwargs, "device": torch.device("cpu"), "non_blocking": False}
        host_kwargs = {key: value for key, value in host_kwargs.items() if key != "non_blocking"}
    with torch._C._DisableTorchDispatch():  # type: ignore[attr-defined]
        out = func(*host_args, **host_kwargs)
    if counts.on and name not in NO_KERNEL and not func.is_view:
        counts.launches[name] += _launches(name, args)
    if not result_here:
        return out
    mutated = {id(each.host): each for each in here} if func._schema.is_mutable else {}
    return tree_map(lambda leaf: _wrapped(leaf, mutated), out)


def _wrapped(leaf: Any, mutated: dict[int, EmulatedTensor]) -> Any:
    if not isinstance(leaf, Tensor) or isinstance(leaf, EmulatedTensor):
        return leaf
    return mutated[id(leaf)] if id(leaf) in mutated else EmulatedTensor(leaf)


def _refuse_mixed(name: str, args: Any, tensors: list[Tensor], here: list[EmulatedTensor]) -> None:
    others = [each for each in tensors if not isinstance(each, EmulatedTensor) and each.dim()]
    copies = name in {"_to_copy", "copy_", "_copy_from", *INDEXED} or name.startswith(LENGTHS_ON_HOST)
    if here and others and not copies:
        raise MixedDevices(f"{name} of tensors on {NAME} and {others[0].device}")


def _count_waits(name: str, args: Any, kwargs: Any, counts: Counts, result_here: bool) -> None:
    if name in {"_to_copy", "copy_"}:
        source = args[1] if name == "copy_" else args[0]
        target_here = isinstance(args[0], EmulatedTensor) if name == "copy_" else result_here
        asynchronous = bool(kwargs.get("non_blocking")) or (name == "copy_" and args[2:3] == (True,))
        source_here, page_locked = isinstance(source, EmulatedTensor), hasattr(source, "is_page_locked")
        if target_here and not source_here and source.numel() and not (asynchronous and page_locked):
            counts.waits["copy to the device"] += 1
        if source_here and not target_here:
            counts.waits["copy from the device"] += 1
    elif name in WAITING:
        counts.waits[name] += 1
    elif name in INDEXED:
        indices = [each for each in args[1] if isinstance(each, Tensor)]
        if any(each.dtype in {torch.bool, torch.uint8} for each in indices):
            counts.waits["boolean index"] += 1
        if any(not isinstance(each, EmulatedTensor) for each in indices):
            counts.waits["index on the host"] += 1


def _launches(name: str, args: Any) -> int:
    """Return the kernels of an operator: one, or those of the chunks of a multi-tensor operator."""
    lists = [each for each in args if isinstance(each, list) and each and isinstance(each[0], Tensor)]
    if not name.startswith(("_foreach", "_fused", "_amp_foreach")) or not lists:
        return 1
    if name.startswith("_foreach") and any(
        one.shape != other.shape for others in lists[1:] for one, other in zip(lists[0], others, strict=False)
    ):
        return len(lists[0])  # its slow path
    chunks = sum(math.ceil(each.numel() / CHUNK) for each in lists[0])
    return max(math.ceil(len(lists[0]) / TENSORS_A_LAUNCH[min(5, len(lists))]), math.ceil(chunks / BLOCKS))


@contextmanager
def as_one(counts: Counts, name: str) -> Iterator[None]:
    """Count what is inside as one launch."""
    if counts.on:
        counts.launches[name] += 1
    counts.halted += 1
    try:
        yield
    finally:
        counts.halted -= 1


def fused(counts: Counts, name: str, gradients: int, function: Callable[..., Tensor], *inputs: Any) -> Tensor:
    """Return a function of tensors as one launch; its gradient is `gradients` launches."""
    return _Fused.apply(counts, name, gradients, function, *inputs)  # type: ignore


class _Fused(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, counts: Counts, name: str, gradients: int, function: Any, *inputs: Any) -> Tensor:
        ctx.save_for_backward(*inputs)
        ctx.asked = counts, name, gradients, function
        with as_one(counts, name):
            return EmulatedTensor(function(*(_host(each) for each in inputs)))

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        counts, name, launches, function = ctx.asked
        inputs = ctx.saved_tensors
        if counts.on:
            counts.launches[f"{name}'s gradient"] += launches - 1
        with as_one(counts, f"{name}'s gradient"), torch.enable_grad():
            leaves = [_host(each) for each in inputs]
            wanted = [each.requires_grad_() for each in leaves if each is not None and each.is_floating_point()]
            found = iter(torch.autograd.grad(function(*leaves), wanted, _host(gradients[0])))
        floats = [each is not None and each.is_floating_point() for each in leaves]
        return (*[None] * 4, *(EmulatedTensor(next(found)) if each else None for each in floats))


def _span_window(values: Tensor, logits: Tensor) -> Tensor:
    summed = portable.weighted_window_sum(values.float(), logits.float().softmax(-1))
    return summed.to(values.dtype)


def _depthwise_window(offset: int, values: Tensor, kernel: Tensor) -> Tensor:
    shift = offset - len(kernel) // 2
    longer = values.float() if not shift else window.extended(values.float(), shift)
    summed = portable.depthwise_window_sum(longer, kernel.float())
    return (window.inside(summed, shift) if shift else summed).to(values.dtype)


def _residual_norm(
    epsilon: float, dropout: float, seed: int, dtype: torch.dtype,
    bias: Tensor | None, weight: Tensor, added: Tensor | None, x: Tensor,
) -> Tensor:  # fmt: skip
    if added is not None:
        kept = torch.rand(x.shape, generator=torch.Generator().manual_seed(seed)) >= dropout
        x = (x.float() + added.float() * kept / (1 - dropout)).to(x.dtype)
    return torch.layer_norm(x.float(), x.shape[-1:], weight, bias, epsilon).to(dtype)


def _attention(causal: bool, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, mask, 0.0, is_causal=causal)


def _host(value: Any) -> Any:
    return value.detach().host.detach() if isinstance(value, EmulatedTensor) else value


@cache
def device() -> torch.device:
    """Return the device, which exists in this process from now on."""
    module = type("Module", (), {**{name: staticmethod(each) for name, each in _MODULE.items()}})()
    _setup_privateuseone_for_python_backend(NAME, backend_module=module)
    torch.utils._foreach_utils._foreach_supported_types.append(EmulatedTensor)  # type: ignore[attr-defined]
    _register_autocast()
    return torch.device(NAME, 0)


_MODULE: dict[str, Callable[..., Any]] = {
    "is_available": lambda: True,
    "is_initialized": lambda: True,
    "device_count": lambda: 1,
    "current_device": lambda: 0,
    "_is_in_bad_fork": lambda: False,
    "manual_seed": lambda seed: None,
    "manual_seed_all": lambda seed: None,
    "get_rng_state": lambda device=0: torch.get_rng_state(),
    "set_rng_state": lambda state, device=0: None,
    "get_amp_supported_dtype": lambda: [torch.bfloat16, torch.float16],
}
_CAST_WEIGHTS: dict[int, tuple[Tensor, Tensor]] = {}
"""Autocast's cache: a weight is cast once within the outermost context."""
_LIBRARIES: list[torch.library.Library] = []


def _register_autocast() -> None:
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
            floats = [each for each in tree_leaves((args, kwargs)) if _castable(each)]
            wide = any(each.dtype == torch.float32 for each in floats)
            if policy == "result" and "dtype" in names:
                if kwargs.get("dtype") is None and floats and not wide:
                    kwargs = {**dict(zip(names, args, strict=False)), **kwargs, "dtype": torch.float32}
                    args = ()
            elif policy == "lower" or policy != "promote" or wide:
                to = torch.bfloat16 if policy == "lower" else torch.float32
                args, kwargs = tree_map(lambda leaf: _cast(leaf, to), (args, kwargs))
            return overload(*args, **kwargs)

    return run


def _castable(leaf: Any) -> bool:
    return isinstance(leaf, EmulatedTensor) and leaf.is_floating_point() and leaf.dtype != torch.float64


def _cast(leaf: Any, to: torch.dtype) -> Any:
    if not _castable(leaf) or leaf.dtype == to:
        return leaf
    if to == torch.bfloat16 and leaf.is_leaf and leaf.requires_grad:
        if id(leaf) not in _CAST_WEIGHTS:
            _CAST_WEIGHTS[id(leaf)] = (leaf, leaf.to(to))
        return _CAST_WEIGHTS[id(leaf)][1]
    return leaf.to(to)


@contextmanager
def emulation() -> Iterator[Counts]:
    """Compute on the device inside, and count; inference mode, which it lacks, is a mode without gradients."""
    from steeplechase.models import precision

    here, counts = device(), Counts()
    clear, has = torch.clear_autocast_cache, precision.has_bfloat16

    def span_window(values: Tensor, logits: Tensor) -> Tensor:
        return fused(counts, "span window", 2, _span_window, values, logits)

    def depthwise_window(values: Tensor, kernel: Tensor, offset: int) -> Tensor:
        return fused(counts, "depthwise window", 3, partial(_depthwise_window, offset), values, kernel)

    def residual_norm(x: Tensor, added: Tensor | None, weight: Tensor, bias: Tensor | None, *settings: Any) -> Tensor:
        return fused(counts, "residual norm", 2, partial(_residual_norm, *settings), bias, weight, added, x)

    def cleared() -> None:
        _CAST_WEIGHTS.clear()
        clear()

    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        patch.setattr(window, "has_fused", lambda values: isinstance(values, EmulatedTensor))
        patch.setattr(triton_window, "span_window", span_window)
        patch.setattr(triton_depthwise, "depthwise_window", depthwise_window)
        patch.setattr(triton_norm, "residual_norm", residual_norm)
        patch.setattr(torch, "clear_autocast_cache", cleared)
        patch.setattr(torch, "inference_mode", torch.no_grad)
        patch.setattr(precision, "has_bfloat16", lambda device: device.type == here.type or has(device))
        stack.enter_context(_Calls(counts))
        stack.enter_context(_Operators(counts))
        stack.callback(_CAST_WEIGHTS.clear)
        yield counts


def moved(module: nn.Module) -> Any:
    """Move parameters and buffers to the device, as `Module.to` does; what is not registered stays."""
    device()
    made: dict[int, Tensor] = {}

    def of(tensor: Tensor) -> Tensor:
        if id(tensor) not in made:
            here = EmulatedTensor(tensor.detach())
            parameter = isinstance(tensor, nn.Parameter)
            made[id(tensor)] = nn.Parameter(here, tensor.requires_grad) if parameter else here
        return made[id(tensor)]

    for each in module.modules():
        for table in (each._parameters, each._buffers):
            for name, tensor in table.items():
                if tensor is not None:
                    table[name] = of(tensor)  # type: ignore[assignment]
    return module

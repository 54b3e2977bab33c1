"""An accelerator without hardware: torch's PrivateUse1 device in Python, whose values are computed on the processor.

It refuses an operator over two devices, and counts what costs an accelerator time: launched kernels, and the host's
waits for the device. A multi-tensor operator counts as the launches of its chunks
(ATen/native/cuda/MultiTensorApply.cuh).
"""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

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


@dataclass
class Counts:
    """What was asked of the device."""

    launches: Counter[str] = field(default_factory=Counter)
    waits: Counter[str] = field(default_factory=Counter)
    """Copies from pageable memory and reads of the device, by kind."""
    moved: Counter[str] = field(default_factory=Counter)
    """Bytes of the inputs and outputs of every launch, as if nothing stayed in a cache."""
    halted: int = 0

    @property
    def on(self) -> bool:
        return not self.halted

    def clear(self) -> None:
        """Begin anew."""
        self.launches.clear(), self.waits.clear(), self.moved.clear()


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
        return computed(func, args, kwargs or {}, Counts())


def computed(func: Any, args: Any, kwargs: Any, counts: Counts) -> Any:
    name = func._schema.name.partition("::")[2]
    tensors = tensors_in((args, kwargs))
    here = [each for each in tensors if isinstance(each, EmulatedTensor)]
    target = kwargs.get("device")
    to_here = target is not None and torch.device(target).type == NAME
    if not here and not to_here:
        return func(*args, **kwargs)
    result_here = to_here or target is None
    _refuse_mixed(name, args, tensors, here)
    if counts.on:
        _count_waits(name, args, kwargs, counts, result_here)
    host_args, host_kwargs = mapped(
        lambda each: each.host if isinstance(each, EmulatedTensor) else each, (args, kwargs)
    )
    if to_here:
        host_kwargs = {**host_kwargs, "device": torch.device("cpu"), "non_blocking": False}
        host_kwargs = {key: value for key, value in host_kwargs.items() if key != "non_blocking"}
    with torch._C._DisableTorchDispatch():  # type: ignore[attr-defined]
        out = func(*host_args, **host_kwargs)
    if counts.on and name not in NO_KERNEL and not func.is_view:
        counts.launches[name] += _launches(name, args)
        counts.moved[name] += bytes_of([*tensors_in((host_args, host_kwargs)), *tensors_in(out)])
    if not result_here:
        return out
    mutated = {id(each.host): each for each in here} if func._schema.is_mutable else {}
    return mapped(lambda each: _wrapped(each, mutated), out)


def tensors_in(value: Any) -> list[Tensor]:
    """Return the tensors in lists, tuples and dictionaries, as an operator has its arguments."""
    if isinstance(value, Tensor):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return [tensor for each in inner for tensor in tensors_in(each)]


def bytes_of(tensors: list[Tensor]) -> int:
    """Return the bytes of host tensors, of each once: of a broadcast one those that it has."""
    sizes = {id(each): each.numel() * each.element_size() for each in tensors}
    return sum(
        min(sizes[id(each)], each.untyped_storage().nbytes()) for each in {id(one): one for one in tensors}.values()
    )


def mapped(function: Callable[[Tensor], Any], value: Any) -> Any:
    """Return lists, tuples and dictionaries with the function of each tensor, faster than torch's own map."""
    if isinstance(value, Tensor):
        return function(value)
    if isinstance(value, dict):
        return {key: mapped(function, each) for key, each in value.items()}
    return type(value)([mapped(function, each) for each in value]) if isinstance(value, list | tuple) else value


def _wrapped(each: Tensor, mutated: dict[int, EmulatedTensor]) -> Tensor:
    if isinstance(each, EmulatedTensor):
        return each
    return mutated[id(each)] if id(each) in mutated else EmulatedTensor(each)


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


@cache
def device() -> torch.device:
    """Return the device, which exists in this process from now on."""
    module = type("Module", (), {**{name: staticmethod(each) for name, each in _MODULE.items()}})()
    _setup_privateuseone_for_python_backend(NAME, backend_module=module)
    torch.utils._foreach_utils._foreach_supported_types.append(EmulatedTensor)  # type: ignore[attr-defined]
    from tests.factories.emulated_autocast import register_autocast  # which needs the tensors of this file

    register_autocast()
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

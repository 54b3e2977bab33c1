"""Cases of the Triton operators, and a process of its own that runs or compiles them all.

Triton is told to interpret before it is imported, once per process, so the operators run in another process: this
file, called by name. It also hands the kernels to the compiler for cards that this machine need not have.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors.torch import save_file
from torch import Tensor

from steeplechase.models.kernels import opaque_windows
from tests.factories.paths import ROOT

CAPABILITIES = (80, 100)  # Ampere, Blackwell
SEED, EPSILON = 1234, 1e-6
HEADS = 2
Found = dict[str, Tensor]


class Window(NamedTuple):
    """Sizes of the span window."""

    kernel_size: int
    width: int
    length: int
    dtype: torch.dtype = torch.float32
    steepness: float = 2.0

    def inputs(self) -> Found:
        """Return values and gradient, which are slices of something wider, and logits."""
        generator = torch.Generator().manual_seed(self.kernel_size + self.length)

        def normal(width: int) -> Tensor:
            return torch.randn(2, self.length, width, generator=generator).to(self.dtype)

        inner = HEADS * self.width
        values, gradient = normal(4 * inner)[..., inner : 2 * inner], normal(2 * inner)[..., inner:]
        logits = self.steepness * normal(HEADS * self.kernel_size)
        drawn = {"values": values, "logits": logits, "gradient": gradient}
        return {name: each.unflatten(-1, (HEADS, -1)) for name, each in drawn.items()}

    def operate(self, values: Tensor, logits: Tensor) -> Tensor:
        from steeplechase.models.kernels.triton_window import span_window

        return span_window(values, logits)

    def opaque(self, values: Tensor, logits: Tensor) -> Tensor:
        return opaque_windows.span_window(values, logits)


class Depthwise(NamedTuple):
    """Sizes of the depthwise window."""

    kernel_size: int
    width: int
    length: int
    shift: int = 0
    dtype: torch.dtype = torch.float32

    @property
    def offset(self) -> int:
        return self.kernel_size // 2 + self.shift

    def inputs(self) -> Found:
        """Return values and gradient, which are slices of something wider, and a kernel in float32."""
        generator = torch.Generator().manual_seed(self.kernel_size + self.length)

        def normal(*shape: int) -> Tensor:
            return torch.randn(shape, generator=generator)

        wide = normal(2, self.length, 3 * self.width).to(self.dtype)
        gradient = normal(2, self.length, 2 * self.width).to(self.dtype)[..., self.width :]
        kernel = normal(self.kernel_size, self.width)
        return {"values": wide[..., self.width : 2 * self.width], "kernel": kernel, "gradient": gradient}

    def operate(self, values: Tensor, kernel: Tensor) -> Tensor:
        from steeplechase.models.kernels.triton_depthwise import depthwise_window

        return depthwise_window(values, kernel, self.offset)

    def opaque(self, values: Tensor, kernel: Tensor) -> Tensor:
        return opaque_windows.depthwise_window(values, kernel, self.offset)


class Norm(NamedTuple):
    """Sizes of the norm of a residual sum."""

    rows: int
    width: int
    dropout: float
    added: torch.dtype | None = torch.float32
    dtype: torch.dtype = torch.float32
    has_bias: bool = True
    seed: int = SEED

    def inputs(self) -> Found:
        """Return the inputs and the gradient of the output; x has the case's type."""
        generator = torch.Generator().manual_seed(self.rows + self.width)

        def normal(*shape: int) -> Tensor:
            return torch.randn(shape, generator=generator)

        shape = (1, self.rows, self.width)
        added = {} if self.added is None else {"added": normal(*shape).to(self.added)}
        bias = {"bias": normal(self.width)} if self.has_bias else {}
        drawn = {"x": normal(*shape).to(self.dtype), **added, "weight": normal(self.width), **bias}
        return {**drawn, "gradient": normal(*shape).to(self.dtype)}

    def operate(self, x: Tensor, weight: Tensor, added: Tensor | None = None, bias: Tensor | None = None) -> Tensor:
        from steeplechase.models.kernels.triton_norm import residual_norm

        return residual_norm(x, added, weight, bias, EPSILON, self.dropout, self.seed, self.dtype)


class Softmax(NamedTuple):
    """Sizes of the softmax over a vocabulary."""

    words: int
    samples: bool = True
    dtype: torch.dtype = torch.float32
    rows: int = 3

    def inputs(self) -> Found:
        """Return logits, biases and targets, with numbers to sample at."""
        generator = torch.Generator().manual_seed(self.words)
        logits = (3 * torch.randn(self.rows, self.words, generator=generator)).to(self.dtype)
        bias = torch.randn(self.words, generator=generator)
        bias[self.words // 2 :: 5] = -torch.inf
        targets = torch.randint(self.words // 2, (self.rows,), generator=generator)
        return {"logits": logits, "bias": bias, "targets": targets, "uniforms": torch.tensor([0.0, 0.4, 1 - 2**-24])}

    def computed(self, device: str) -> Found:
        """Return losses, tokens and gradients."""
        from steeplechase.models.kernels.triton_vocabulary import softmax_of

        logits, bias, targets, uniforms = (each.to(device) for each in self.inputs().values())
        found = softmax_of(logits, bias, targets, uniforms if self.samples else None)
        return dict(zip(("losses", "tokens", "gradients"), found, strict=True))


Case = Window | Depthwise | Norm | Softmax
WINDOWS = (
    Window(1, 5, 7),
    Window(3, 5, 130),  # two programs per head, the second nearly empty
    Window(4, 16, 11),
    Window(9, 5, 7),  # longer than the sequence
    Window(3, 16, 11, steepness=100.0),  # exp overflows unless the largest logit is taken out
    Window(3, 5, 11, torch.float16),
    Window(9, 64, 12, torch.bfloat16),
)
DEPTHWISE = (
    *(Depthwise(size, 5, 7) for size in (1, 4, 9)),
    Depthwise(3, 65, 33),
    *(Depthwise(size, 20, 11, shift) for size in (3, 4) for shift in ((size - 1) // 2, -(size // 2))),
    *(Depthwise(size, 33, 12, 0, torch.bfloat16) for size in (3, 33)),
    Depthwise(3, 20, 11, 0, torch.float16),
)
OPAQUE = (WINDOWS[1], WINDOWS[-2], Depthwise(4, 20, 11, 1), Depthwise(3, 33, 12, 0, torch.bfloat16))
"""What is also called as an operator of a compiled graph, which calls the same kernels."""
NORMS = (
    Norm(1, 1, 0.0),
    Norm(5, 7, 0.3),
    Norm(300, 24, 0.3),
    Norm(5, 24, 0.0, None),
    Norm(5, 24, 0.3, has_bias=False),
    Norm(5, 24, 0.3, torch.bfloat16),
    Norm(9, 256, 0.1, torch.bfloat16, torch.bfloat16),
    Norm(9, 256, 0.0, None, torch.bfloat16),
)
SOFTMAXES = (
    Softmax(5),
    Softmax(4096, dtype=torch.bfloat16),
    Softmax(9000),  # three blocks, the last partly filled
    Softmax(9000, samples=False),
)
OTHER_SEED = Norm(300, 24, 0.3, seed=2)
LARGE = (
    Window(9, 64, 128, torch.bfloat16),
    Depthwise(33, 256, 128, 0, torch.bfloat16),
    Norm(128, 768, 0.1, torch.bfloat16, torch.bfloat16),
    Softmax(30_522, dtype=torch.bfloat16),
)
"""What is compiled."""


def name_of(case: Case) -> str:
    return "-".join([type(case).__name__.lower(), *map(str, case)])


def operated(case: Case, device: str, opaque: bool = False) -> Found:
    """Return an operator's result as `out`, and the gradients by its inputs' names."""
    if isinstance(case, Softmax):
        return case.computed(device)
    inputs = {name: each.to(device) for name, each in case.inputs().items()}
    gradient = inputs.pop("gradient")
    leaves = {name: each.requires_grad_() for name, each in inputs.items()}
    assert not opaque or not isinstance(case, Norm)
    out = case.opaque(**leaves) if opaque else case.operate(**leaves)  # type: ignore[union-attr]
    gradients = torch.autograd.grad(out, list(leaves.values()), gradient)
    return {"out": out.detach(), **dict(zip(leaves, gradients, strict=True))}


def called(*words: str, **environment: str) -> str:
    """Return what this file says as a process of its own, where Triton has other settings."""
    told = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", **environment}
    ended = subprocess.run([sys.executable, __file__, *words], env=told, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def operate_all(device: str, file: str) -> None:
    """Write the results and gradients of all cases."""
    cases = (*WINDOWS, *DEPTHWISE, *NORMS, OTHER_SEED, *SOFTMAXES)
    told = {f"{name_of(case)} {part}": each for case in cases for part, each in operated(case, device).items()}
    for case in OPAQUE:
        told |= {f"opaque {name_of(case)} {part}": each for part, each in operated(case, device, True).items()}
    inputs = WINDOWS[0].inputs()
    values = inputs["values"].to(device).requires_grad_()
    once = WINDOWS[0].operate(values, inputs["logits"].to(device).requires_grad_()).sum()
    (gradient,) = torch.autograd.grad(once, values, create_graph=True)
    try:
        gradient.sum().backward()
    except RuntimeError:
        told["second derivative refused"] = torch.ones(1)
    save_file({name: part.cpu().contiguous().clone() for name, part in told.items()}, file)


def compile_all() -> None:
    """Print the registers and the spilled bytes of each kernel, compiled for GPUs that are not present."""
    import triton

    usage: dict[str, tuple[int, int]] = {}
    for capability in CAPABILITIES:
        triton.runtime.driver.set_active(IdleCard(capability, usage))
        for case in LARGE:
            operated(case, "cpu")
    sys.stdout.write(json.dumps(usage))


class IdleCard:
    """A driver without a GPU: Triton compiles for a given capability, and nothing is run."""

    def __init__(self, capability: int, usage: dict[str, tuple[int, int]]) -> None:
        self.capability, self.usage, self.utils = capability, usage, self

    def get_current_device(self) -> int:
        return self.capability  # Triton keeps what it compiled by this number

    def get_current_stream(self, device: int) -> int:
        return device

    def get_current_target(self) -> Any:
        from triton.backends.compiler import GPUTarget

        return GPUTarget("cuda", self.capability, 32)

    def get_device_properties(self, device: int) -> dict[str, int]:
        return {"max_shared_mem": 48 * 1024}  # what every CUDA card gives a program

    def launcher_cls(self, *_: Any) -> Any:
        return lambda *_: None

    def load_binary(self, name: str, binary: bytes, shared: int, device: int) -> tuple[int, int, int, int, int]:
        import triton

        tool = Path(triton.__file__).parent / "backends/nvidia/bin/cuobjdump"
        with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
            Path(file.name).write_bytes(binary)
            printed = subprocess.run(
                [tool, "-res-usage", file.name], capture_output=True, text=True, check=True
            ).stdout
        registers, spilled = (int(number) for number in re.findall(r"(?:REG|STACK):(\d+)", printed))
        self.usage[f"{name} {device} {len(self.usage)}"] = (registers, spilled)  # two kernels have one name
        return 0, 0, registers, spilled, 1024


if __name__ == "__main__":
    {"operate": operate_all, "compile": compile_all}[sys.argv[1]](*sys.argv[2:])

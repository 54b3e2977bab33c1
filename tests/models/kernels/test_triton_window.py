"""The Triton operator against its equation in float64, in Triton's interpreter and on a GPU where there is one.

Triton is told to interpret before it is imported, once per process, so the operator runs in one of its own: this
file, called by name. Another one hands the kernels to the compiler for cards that this machine need not have.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from tests.factories.paths import ROOT

pytest.importorskip("triton", reason="Triton is not installed: it has no wheel for this platform")

CAPABILITIES = (80, 90, 100)  # Ampere, Hopper, Blackwell
RELATIVE = {torch.float32: 1e-5, torch.float16: 2**-10, torch.bfloat16: 2**-7}  # one rounding of a float32 sum
ABSOLUTE = 1e-5


class Case(NamedTuple):
    kernel_size: int
    head_dim: int
    length: int
    dtype: torch.dtype = torch.float32
    steepness: float = 2.0

    @property
    def name(self) -> str:
        return f"k{self.kernel_size}-d{self.head_dim}-t{self.length}-{self.dtype}-x{self.steepness:g}"


CASES = (
    Case(1, 5, 7),
    Case(3, 16, 11),
    Case(3, 5, 130),  # two programs per head, the second nearly empty
    Case(4, 16, 11),
    Case(9, 64, 70),  # three programs per head
    Case(9, 16, 3),
    Case(33, 5, 7),
    Case(33, 64, 40),
    Case(3, 16, 11, steepness=100.0),  # exp overflows unless the largest logit is taken out
    Case(3, 5, 11, torch.float16),
    Case(9, 64, 40, torch.bfloat16),
)
HEADS, BATCH = 3, 2


def drawn(case: Case) -> tuple[Tensor, Tensor, Tensor]:
    """Return values and gradient, which are slices of something wider, and logits."""
    generator = torch.Generator().manual_seed(case.kernel_size + case.length)

    def normal(width: int) -> Tensor:
        return torch.randn(BATCH, case.length, width, generator=generator).to(case.dtype)

    inner = HEADS * case.head_dim
    values, gradient = normal(4 * inner)[..., inner : 2 * inner], normal(2 * inner)[..., inner:]
    logits = case.steepness * normal(HEADS * case.kernel_size)
    return tuple(each.unflatten(-1, (HEADS, -1)) for each in (values, logits, gradient))


def by_the_equation(case: Case, misplaced: int = 0) -> tuple[Tensor, ...]:
    """Return result and gradients from ConvBERT's equation 3 in float64, with the window `misplaced` tokens away."""
    values, logits, gradient = (each.double() for each in drawn(case))
    values.requires_grad_(), logits.requires_grad_()
    weights, rows = logits.softmax(-1), []
    for t in range(case.length):
        sources = ((j, t + j - case.kernel_size // 2 + misplaced) for j in range(case.kernel_size))
        reached = [(j, source) for j, source in sources if 0 <= source < case.length]
        terms = [weights[:, t, :, j, None] * values[:, source] for j, source in reached]
        rows.append(sum(terms, torch.zeros_like(values[:, 0])))
    out = torch.stack(rows, 1)
    return out.detach(), *torch.autograd.grad(out, (values, logits), gradient)


@pytest.fixture(scope="module", params=["interpreter", "cuda"])
def found(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Tensor]:
    """Return the operator's results and gradients of all cases."""
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("this machine has no GPU")
    file = tmp_path_factory.mktemp("triton") / "found.safetensors"
    device, interpret = ("cpu", "1") if request.param == "interpreter" else ("cuda", "0")
    called_by_name("operate", device, str(file), TRITON_INTERPRET=interpret)
    return load_file(file)


def called_by_name(*words: str, **environment: str) -> str:
    command = [sys.executable, __file__, *words]
    told = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", **environment}
    called = subprocess.run(command, env=told, capture_output=True, text=True, check=False)
    assert called.returncode == 0, called.stderr
    return called.stdout


def agrees(case: Case, found: Tensor, expected: Tensor) -> bool:
    assert found.dtype == case.dtype
    return torch.allclose(found.double(), expected, rtol=RELATIVE[case.dtype], atol=ABSOLUTE)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_result_and_the_gradients_are_those_of_the_equation(case: Case, found: dict[str, Tensor]) -> None:
    told = zip(("out", "to_values", "to_logits"), by_the_equation(case), strict=True)
    wrong = [part for part, expected in told if not agrees(case, found[f"{case.name} {part}"], expected)]
    assert wrong == []


@pytest.mark.parametrize("case", [case for case in CASES if case.kernel_size > 1], ids=lambda case: case.name)
def test_a_window_shifted_by_one_token_is_detected(case: Case, found: dict[str, Tensor]) -> None:
    told = zip(("out", "to_values", "to_logits"), by_the_equation(case, misplaced=1), strict=True)
    assert not any(agrees(case, found[f"{case.name} {part}"], expected) for part, expected in told)


def test_a_second_derivative_raises(found: dict[str, Tensor]) -> None:
    assert found["second derivative refused"].item() == 1


def test_the_kernels_compile_without_register_spills(tmp_path: Path) -> None:
    usage = json.loads(called_by_name("compile", TRITON_INTERPRET="0", TRITON_CACHE_DIR=str(tmp_path)))
    kernels = ("_mix", "_logit_gradients", "_value_gradients")
    assert set(usage) == {f"{kernel} {capability}" for kernel in kernels for capability in CAPABILITIES}
    assert all(0 < registers <= 255 and spilled == 0 for registers, spilled in usage.values()), usage


def operate(device: str, file: str) -> None:
    """Write the operator's results and gradients of all cases."""
    from steeplechase.models.kernels.triton_window import span_window

    told = {}
    for case in CASES:
        values, logits, gradient = (each.to(device) for each in drawn(case))
        values.requires_grad_(), logits.requires_grad_()
        out = span_window(values, logits)
        parts = (out.detach(), *torch.autograd.grad(out, (values, logits), gradient))
        told |= zip((f"{case.name} {part}" for part in ("out", "to_values", "to_logits")), parts, strict=True)
    (once,) = torch.autograd.grad(span_window(values, logits).sum(), values, create_graph=True)
    try:
        once.sum().backward()
    except RuntimeError:
        told["second derivative refused"] = torch.ones(1)
    save_file({name: part.cpu().contiguous() for name, part in told.items()}, file)


def compile_all() -> None:
    """Print the registers and the spilled bytes of each kernel, compiled for GPUs that are not present."""
    import triton

    from steeplechase.models.kernels.triton_window import span_window

    usage: dict[str, tuple[int, int]] = {}
    values, logits, gradient = drawn(Case(9, 64, 128, torch.bfloat16))
    for capability in CAPABILITIES:
        triton.runtime.driver.set_active(IdleCard(capability, usage))
        span_window(values.requires_grad_(), logits.requires_grad_()).backward(gradient)
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
        self.usage[f"{name} {self.capability}"] = (registers, spilled)
        return 0, 0, registers, spilled, 1024


if __name__ == "__main__":
    {"operate": operate, "compile": compile_all}[sys.argv[1]](*sys.argv[2:])

"""The depthwise Triton operator against its equation in float64, interpreted and on a GPU, and compiled for cards."""

import json
import os
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import NamedTuple

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from tests.factories.paths import ROOT

pytest.importorskip("triton", reason="Triton is not installed: it has no wheel for this platform")

CAPABILITIES = (80, 90, 100)  # Ampere, Hopper, Blackwell
RELATIVE = {torch.float32: 1e-5, torch.float16: 2**-10, torch.bfloat16: 2**-7}  # one rounding of a float32 sum
ABSOLUTE = 1e-5
ROUNDED_ONCE, CUT_ONCE = 1.7e-3, 3.5e-3
"""Relative error in bfloat16 of an exact sum that is rounded once; Triton's interpreter cuts off instead."""


class Case(NamedTuple):
    kernel_size: int
    width: int
    length: int
    shift: int
    dtype: torch.dtype

    @property
    def name(self) -> str:
        return "-".join(map(str, self))

    @property
    def offset(self) -> int:
        return self.kernel_size // 2 + self.shift


CASES = [
    *(Case(size, 5, 7, 0, torch.float32) for size in (1, 2, 3, 4, 9, 35)),
    *(Case(3, width, length, 0, torch.float32) for width, length in product((1, 65), (1, 33))),
    *(Case(size, 20, 11, shift, torch.float32) for size in (3, 4) for shift in ((size - 1) // 2, -(size // 2))),
    *(Case(size, 65, 12, 0, torch.bfloat16) for size in (3, 9, 33)),
    Case(3, 20, 11, 0, torch.float16),
]


def drawn(case: Case) -> tuple[Tensor, Tensor, Tensor]:
    """Return values and gradient, which are slices of something wider, and a kernel in float32."""
    generator = torch.Generator().manual_seed(case.kernel_size + case.length)

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator)

    wide = normal(2, case.length, 3 * case.width).to(case.dtype)
    gradient = normal(2, case.length, 2 * case.width).to(case.dtype)
    return wide[..., case.width : 2 * case.width], normal(case.kernel_size, case.width), gradient[..., case.width :]


def by_the_equation(case: Case) -> tuple[Tensor, ...]:
    """Return out[t] = sum over j of kernel[j] values[t + j - offset], and its gradients, in float64."""
    values, kernel, gradient = (each.double() for each in drawn(case))
    values.requires_grad_(), kernel.requires_grad_()
    rows = []
    for t in range(case.length):
        reached = [(j, t + j - case.offset) for j in range(case.kernel_size)]
        terms = [kernel[j] * values[:, source] for j, source in reached if 0 <= source < case.length]
        rows.append(sum(terms, torch.zeros_like(values[:, 0])))
    out = torch.stack(rows, 1)
    return out.detach(), *torch.autograd.grad(out, (values, kernel), gradient)


@pytest.fixture(scope="module", params=["interpreter", "cuda"])
def found(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Tensor]:
    """Return the operator's results and gradients of all cases."""
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("this machine has no GPU")
    file = tmp_path_factory.mktemp("triton") / "found.safetensors"
    device, interpret = ("cpu", "1") if request.param == "interpreter" else ("cuda", "0")
    called(__file__, "operate", device, str(file), TRITON_INTERPRET=interpret)
    return load_file(file)


def called(file: str, *words: str, **environment: str) -> str:
    """Return what a file says as a process of its own, where Triton has other settings."""
    told = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", **environment}
    ended = subprocess.run([sys.executable, file, *words], env=told, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_result_and_the_gradients_are_those_of_the_equation(case: Case, found: dict[str, Tensor]) -> None:
    for part, expected in zip(("out", "to_values", "to_kernel"), by_the_equation(case), strict=True):
        mine = found[f"{case.name} {part}"]
        assert mine.dtype == (torch.float32 if part == "to_kernel" else case.dtype)
        torch.testing.assert_close(mine.double(), expected, rtol=RELATIVE[mine.dtype], atol=ABSOLUTE)


@pytest.mark.parametrize("case", [each for each in CASES if each.dtype == torch.bfloat16], ids=lambda case: case.name)
def test_the_error_in_bfloat16_is_one_rounding_at_every_kernel_size(case: Case, found: dict[str, Tensor]) -> None:
    """So the axis of kernel sizes compares models and not roundings."""
    for part, expected in zip(("out", "to_values"), by_the_equation(case), strict=False):
        error = (found[f"{case.name} {part}"].double() - expected).norm() / expected.norm()
        assert error < (CUT_ONCE if found["interpreted"] else ROUNDED_ONCE)


def test_the_kernels_compile_without_register_spills(tmp_path: Path) -> None:
    usage = json.loads(called(__file__, "compile", TRITON_INTERPRET="0", TRITON_CACHE_DIR=str(tmp_path)))
    assert set(usage) == {f"{kernel} {capability}" for kernel in ("_mix", "_sum") for capability in CAPABILITIES}
    assert all(0 < registers <= 255 and spilled == 0 for registers, spilled in usage.values()), usage


def operate(device: str, file: str) -> None:
    """Write the operator's results and gradients of all cases."""
    from steeplechase.models.kernels.triton_depthwise import depthwise_window

    told = {"interpreted": torch.tensor(device == "cpu")}
    for case in CASES:
        values, kernel, gradient = (each.to(device) for each in drawn(case))
        values.requires_grad_(), kernel.requires_grad_()
        out = depthwise_window(values, kernel, case.offset)
        parts = (out.detach(), *torch.autograd.grad(out, (values, kernel), gradient))
        told |= zip((f"{case.name} {part}" for part in ("out", "to_values", "to_kernel")), parts, strict=True)
    save_file({name: part.cpu().contiguous() for name, part in told.items()}, file)


def compile_all() -> None:
    """Print the registers and the spilled bytes of each kernel, compiled for GPUs that are not present."""
    import triton

    from steeplechase.models.kernels.triton_depthwise import depthwise_window
    from tests.models.kernels.test_triton_window import IdleCard

    usage: dict[str, tuple[int, int]] = {}
    case = Case(33, 256, 128, 0, torch.bfloat16)
    values, kernel, gradient = drawn(case)
    for capability in CAPABILITIES:
        triton.runtime.driver.set_active(IdleCard(capability, usage))
        depthwise_window(values.requires_grad_(), kernel.requires_grad_(), case.offset).backward(gradient)
    sys.stdout.write(json.dumps(usage))


if __name__ == "__main__":
    {"operate": operate, "compile": compile_all}[sys.argv[1]](*sys.argv[2:])

"""The norm of a residual sum in Triton against its equation in float64, interpreted and on a GPU, and compiled."""

import json
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from tests.models.kernels.test_triton_depthwise import CAPABILITIES, called

pytest.importorskip("triton", reason="Triton is not installed: it has no wheel for this platform")

SEED, EPSILON = 1234, 1e-6
CLOSE = {torch.float32: 2e-5, torch.bfloat16: 2**-6}
PARTS = ("out", "to_x", "to_added", "to_weight", "to_bias")


class Case(NamedTuple):
    rows: int
    width: int
    dropout: float
    added: torch.dtype | None = torch.float32
    dtype: torch.dtype = torch.float32
    has_bias: bool = True

    @property
    def name(self) -> str:
        return "-".join(map(str, self))


CASES = [
    *(Case(rows, width, dropout) for rows, width in ((1, 1), (5, 7), (67, 64), (700, 24)) for dropout in (0.0, 0.3)),
    Case(5, 24, 0.0, None),
    Case(5, 24, 0.3, has_bias=False),
    Case(5, 24, 0.3, torch.bfloat16),
    *(Case(9, 256, dropout, torch.bfloat16, torch.bfloat16) for dropout in (0.0, 0.1)),
    Case(9, 256, 0.0, None, torch.bfloat16),
]


def drawn(case: Case) -> dict[str, Tensor | None]:
    """Return the inputs and the gradient of the output; x has the case's type."""
    generator = torch.Generator().manual_seed(case.rows + case.width)

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator)

    shape = (1, case.rows, case.width)
    added = None if case.added is None else normal(*shape).to(case.added)
    bias = normal(case.width) if case.has_bias else None
    drawn = {"x": normal(*shape).to(case.dtype), "added": added, "weight": normal(case.width), "bias": bias}
    return {**drawn, "gradient": normal(*shape).to(case.dtype)}


@pytest.fixture(scope="module", params=["interpreter", "cuda"])
def found(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Tensor]:
    """Return the operator's results and gradients of all cases."""
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("this machine has no GPU")
    file = tmp_path_factory.mktemp("triton") / "found.safetensors"
    device, interpret = ("cpu", "1") if request.param == "interpreter" else ("cuda", "0")
    called(__file__, "operate", device, str(file), TRITON_INTERPRET=interpret)
    return load_file(file)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_result_and_the_gradients_are_those_of_the_equation(case: Case, found: dict[str, Tensor]) -> None:
    """What dropout keeps is read from the gradient: both passes draw the same pattern."""
    inputs = {name: None if each is None else each.double() for name, each in drawn(case).items()}
    gradient = inputs.pop("gradient")
    leaves = [each.requires_grad_() for each in inputs.values() if each is not None]
    x, added = inputs["x"], inputs["added"]
    assert x is not None
    if added is not None:
        kept = found[f"{case.name} to_added"].double() != 0 if case.dropout else torch.ones_like(added)
        x = x + added * kept / (1 - case.dropout)
    out = torch.layer_norm(x, (case.width,), inputs["weight"], inputs["bias"], EPSILON)
    expected = iter((out, *torch.autograd.grad(out, leaves, gradient)))
    for part, source in zip(PARTS, ("x", "x", "added", "weight", "bias"), strict=True):
        if inputs[source] is not None:
            mine = found[f"{case.name} {part}"]
            close = max(CLOSE[mine.dtype], CLOSE[case.dtype])
            wanted = next(expected).detach()
            scale = max(1.0, float(wanted.abs().max()))
            torch.testing.assert_close(mine.double(), wanted, rtol=close, atol=close * scale)


def test_dropout_drops_its_share_anew_for_each_seed(found: dict[str, Tensor]) -> None:
    dropped = (found["700-24-0.3-torch.float32-torch.float32-True to_added"] == 0).double().mean()
    assert abs(dropped - 0.3) < 0.02
    assert not torch.equal(found["seed 1"] == 0, found["seed 2"] == 0)


def test_the_kernels_compile_without_register_spills(tmp_path: Path) -> None:
    usage = json.loads(called(__file__, "compile", TRITON_INTERPRET="0", TRITON_CACHE_DIR=str(tmp_path)))
    kernels = ("_normalise", "_differentiate")
    assert set(usage) == {f"{kernel} {capability}" for kernel in kernels for capability in CAPABILITIES}
    assert all(0 < registers <= 255 and spilled == 0 for registers, spilled in usage.values()), usage


def operated(case: Case, device: str, seed: int = SEED) -> dict[str, Tensor]:
    """Return the operator's result and gradients."""
    from steeplechase.models.kernels.triton_norm import residual_norm

    inputs = {name: None if each is None else each.to(device) for name, each in drawn(case).items()}
    gradient = inputs.pop("gradient")
    leaves = [each.requires_grad_() for each in inputs.values() if each is not None]
    x, weight = inputs["x"], inputs["weight"]
    assert x is not None
    assert weight is not None
    out = residual_norm(x, inputs["added"], weight, inputs["bias"], EPSILON, case.dropout, seed, case.dtype)
    names = [f"to_{name}" for name, each in inputs.items() if each is not None]
    gradients = dict(zip(names, torch.autograd.grad(out, leaves, gradient), strict=True))
    return {"out": out.detach(), **gradients}


def operate(device: str, file: str) -> None:
    """Write the operator's results and gradients of all cases."""
    told = {f"{case.name} {part}": each for case in CASES for part, each in operated(case, device).items()}
    told |= {f"seed {seed}": operated(Case(67, 64, 0.3), device, seed)["to_added"] for seed in (1, 2)}
    save_file({name: each.cpu().contiguous().clone() for name, each in told.items()}, file)


def compile_all() -> None:
    """Print the registers and the spilled bytes of each kernel, compiled for GPUs that are not present."""
    import triton

    from tests.models.kernels.test_triton_window import IdleCard

    usage: dict[str, tuple[int, int]] = {}
    for capability in CAPABILITIES:
        triton.runtime.driver.set_active(IdleCard(capability, usage))
        operated(Case(128, 768, 0.1, torch.bfloat16, torch.bfloat16), "cpu")
    sys.stdout.write(json.dumps(usage))


if __name__ == "__main__":
    {"operate": operate, "compile": compile_all}[sys.argv[1]](*sys.argv[2:])

"""The Triton operators against their equations in float64, interpreted and on a GPU, and compiled for cards."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from tests.factories.triton_kernels import (
    CAPABILITIES,
    DEPTHWISE,
    EPSILON,
    NORMS,
    OPAQUE,
    OTHER_SEED,
    SOFTMAXES,
    WINDOWS,
    Case,
    Depthwise,
    Norm,
    Softmax,
    Window,
    called,
    name_of,
)

pytest.importorskip("triton", reason="Triton is not installed: it has no wheel for this platform")

RELATIVE = {torch.float32: 1e-5, torch.float16: 2**-10, torch.bfloat16: 2**-7}  # one rounding of a float32 sum
ABSOLUTE = 1e-5
CLOSE = {torch.float32: 2e-5, torch.bfloat16: 2**-6}
"""Of a norm, against the largest value or 1."""
ROUNDED_ONCE, CUT_ONCE = 1.7e-3, 3.5e-3
"""Relative error in bfloat16 of an exact sum that is rounded once; Triton's interpreter cuts off instead."""
Results = dict[str, Tensor]


@pytest.fixture(scope="module", params=["interpreter", "cuda"])
def found(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Return the operators' results and gradients of all cases."""
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("this machine has no GPU")
    file = tmp_path_factory.mktemp("triton") / "found.safetensors"
    device, interpret = ("cpu", "1") if request.param == "interpreter" else ("cuda", "0")
    called("operate", device, str(file), TRITON_INTERPRET=interpret)
    return {**load_file(file), "interpreted": torch.tensor(device == "cpu")}


def of(case: Case, found: Results) -> Results:
    """Return the operator's result and gradients of one case."""
    prefix = f"{name_of(case)} "
    return {name.removeprefix(prefix): each for name, each in found.items() if name.startswith(prefix)}


def windows_by_the_equation(
    length: int, size: int, offset: int, term: Callable[[int, int, int], Tensor], nothing: Tensor
) -> Tensor:
    """Return out[t] = sum over taps j of term(t, j, t + j - offset), where the last is inside the sequence."""
    rows = []
    for t in range(length):
        reached = [(j, t + j - offset) for j in range(size)]
        rows.append(sum((term(t, j, at) for j, at in reached if 0 <= at < length), torch.zeros_like(nothing)))
    return torch.stack(rows, 1)


def by_the_equation(case: Window | Depthwise, misplaced: int = 0) -> Results:
    """Return result and gradients in float64, with the window `misplaced` tokens away."""
    inputs = {name: each.double() for name, each in case.inputs().items()}
    gradient = inputs.pop("gradient")
    values, by = (each.requires_grad_() for each in inputs.values())
    if isinstance(case, Window):  # ConvBERT's equation 3
        weights, offset = by.softmax(-1), case.kernel_size // 2 - misplaced

        def term(t: int, j: int, at: int) -> Tensor:
            return weights[:, t, :, j, None] * values[:, at]

    else:
        offset = case.offset - misplaced

        def term(t: int, j: int, at: int) -> Tensor:
            return by[j] * values[:, at]

    out = windows_by_the_equation(case.length, case.kernel_size, offset, term, values[:, 0])
    return {
        "out": out.detach(),
        **dict(zip(inputs, torch.autograd.grad(out, list(inputs.values()), gradient), strict=True)),
    }


def agrees(found: Tensor, expected: Tensor) -> bool:
    return torch.allclose(found.double(), expected, rtol=RELATIVE[found.dtype], atol=ABSOLUTE)


@pytest.mark.parametrize("case", [*WINDOWS, *DEPTHWISE], ids=name_of)
def test_a_window_and_its_gradients_are_those_of_the_equation_and_not_of_one_shifted_by_a_token(
    case: Window | Depthwise, found: Results
) -> None:
    mine, inputs, expected = of(case, found), case.inputs(), by_the_equation(case)
    assert {name: each.dtype for name, each in mine.items()} == {
        "out": case.dtype,
        **{name: each.dtype for name, each in inputs.items() if name != "gradient"},
    }
    assert [part for part in expected if not agrees(mine[part], expected[part])] == []
    if case.kernel_size > 1:
        shifted = by_the_equation(case, misplaced=1)
        assert not any(agrees(mine[part], shifted[part]) for part in shifted)


@pytest.mark.parametrize("case", OPAQUE, ids=name_of)
def test_a_window_in_a_compiled_graph_is_the_same_bit_for_bit(case: Window | Depthwise, found: Results) -> None:
    prefix = f"opaque {name_of(case)} "
    opaque = {name.removeprefix(prefix): each for name, each in found.items() if name.startswith(prefix)}
    assert [part for part, each in of(case, found).items() if not torch.equal(opaque[part], each)] == []


@pytest.mark.parametrize("case", [each for each in DEPTHWISE if each.dtype == torch.bfloat16], ids=name_of)
def test_the_error_in_bfloat16_is_one_rounding_at_every_kernel_size(case: Depthwise, found: Results) -> None:
    """So the axis of kernel sizes compares models and not roundings."""
    expected, mine = by_the_equation(case), of(case, found)
    for part in ("out", "values"):
        error = (mine[part].double() - expected[part]).norm() / expected[part].norm()
        assert error < (CUT_ONCE if found["interpreted"] else ROUNDED_ONCE)


@pytest.mark.parametrize("case", NORMS, ids=name_of)
def test_a_norm_and_its_gradients_are_those_of_the_equation(case: Norm, found: Results) -> None:
    """What dropout keeps is read from the gradient: both passes draw the same pattern."""
    mine, inputs = of(case, found), {name: each.double() for name, each in case.inputs().items()}
    gradient = inputs.pop("gradient")
    leaves = {name: each.requires_grad_() for name, each in inputs.items()}
    x = leaves["x"]
    if "added" in leaves:
        kept = mine["added"].double() != 0 if case.dropout else torch.ones_like(x)
        x = x + leaves["added"] * kept / (1 - case.dropout)
    out = torch.layer_norm(x, (case.width,), leaves["weight"], leaves.get("bias"), EPSILON)
    expected = dict(zip(leaves, torch.autograd.grad(out, list(leaves.values()), gradient), strict=True))
    for part, wanted in {"out": out.detach(), **expected}.items():
        close = max(CLOSE[mine[part].dtype], CLOSE[case.dtype])
        scale = max(1.0, float(wanted.abs().max()))
        torch.testing.assert_close(mine[part].double(), wanted, rtol=close, atol=close * scale)


@pytest.mark.parametrize("case", SOFTMAXES, ids=name_of)
def test_a_softmax_over_a_vocabulary_has_the_losses_gradients_and_tokens_of_the_equation(
    case: Softmax, found: Results
) -> None:
    """Tokens without probability, which follow the last with any, are not sampled at the largest number either."""
    mine, (logits, bias, targets, uniforms) = of(case, found), case.inputs().values()
    probabilities = (logits.double() + bias).softmax(-1)
    torch.testing.assert_close(mine["losses"].double(), -probabilities.log()[range(case.rows), targets])
    wanted = probabilities - torch.nn.functional.one_hot(targets, case.words)
    torch.testing.assert_close(mine["gradients"].double(), wanted, rtol=RELATIVE[case.dtype], atol=1e-6)
    sums = probabilities.cumsum(-1)
    tokens = torch.searchsorted(sums, uniforms[:, None].double() * sums[:, -1:], right=True)[:, 0]
    assert torch.equal(mine["tokens"], tokens if case.samples else targets)


def test_dropout_drops_its_share_anew_for_each_seed(found: Results) -> None:
    one, other = (of(case, found)["added"] == 0 for case in (OTHER_SEED._replace(seed=1234), OTHER_SEED))
    assert abs(one.double().mean() - 0.3) < 0.02
    assert not torch.equal(one, other)


def test_a_second_derivative_raises(found: Results) -> None:
    assert found["second derivative refused"].item() == 1


def test_the_kernels_compile_without_register_spills(tmp_path: Path) -> None:
    usage = json.loads(called("compile", TRITON_INTERPRET="0", TRITON_CACHE_DIR=str(tmp_path)))
    kernels = ("_mix", "_logit_gradients", "_value_gradients", "_sum", "_normalise", "_differentiate", "_entropy")
    every = {f"{kernel} {capability}" for kernel in kernels for capability in CAPABILITIES}
    assert {name.rpartition(" ")[0] for name in usage} == every
    assert all(0 < registers <= 255 and spilled == 0 for registers, spilled in usage.values()), usage

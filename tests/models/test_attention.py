"""The block and the encoder, compared with loops over the equations at every bottleneck ratio γ."""

from collections.abc import Callable, Iterator
from fractions import Fraction

import pytest
import torch
from torch import Tensor, nn

from search_space.architecture import Architecture
from search_space.convolution import Convolution
from steeplechase.models.encoder import Encoder
from steeplechase.models.initialisation import initialise
from steeplechase.models.sublayer.attention import Sublayer
from tests.factories.parity import LARGEST, distance
from tests.factories.reference_equations import encoder as encoder_by_the_equations
from tests.factories.reference_equations import mixed_attention
from tests.factories.small_experiments import architecture, leaking, of_table_2, stir, title, variants
from tests.factories.sublayers import attention_of

RATIOS = (1, "4/3", 4)
KERNEL_SIZES = (1, 3, 5, 7, 9, 33)
LENGTHS, LENGTH = (5, 3), 5  # the longer kernels reach past both sequences
NUDGE = 1e-3
Function = Callable[[dict[str, Tensor], Tensor], Tensor]


def options(kernel_size: int) -> list[Convolution]:
    return [*of_table_2(variants(kernel_size)), *leaking(kernel_size)]


def block_of(convolution: Convolution, ratio: int | str) -> tuple[Sublayer, Architecture]:
    heads = 8 if ratio == 4 else 4  # as few as leave two: loops over them take the time
    sizes = Architecture(width=16, heads=heads, bottleneck_ratio=ratio, convolution=convolution)
    module = attention_of(sizes, 0.1)
    shake(module)
    return module, sizes


def shake(module: nn.Module) -> None:
    initialise(module, 1)
    stir(module, 7)
    module.double().eval()


def padding(padded: bool) -> Tensor:
    ends = torch.tensor(LENGTHS if padded else [LENGTH] * len(LENGTHS))
    return torch.arange(LENGTH) < ends[:, None]


def drawn(*shape: int, seed: int = 1) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def by_loops(sizes: Architecture, padding_mask: Tensor) -> Function:
    heads = round(sizes.heads / Fraction(str(sizes.bottleneck_ratio)))

    def function(weights: dict[str, Tensor], x: Tensor) -> Tensor:
        rows = zip(x, padding_mask, strict=True)
        return torch.stack(
            [
                torch.stack(mixed_attention(weights, list(row), inside.tolist(), heads, sizes.convolution))
                for row, inside in rows
            ]
        )

    return function


def ours(module: nn.Module, padding_mask: Tensor) -> Function:
    """Return our module as a function of its weights, with a padding mask of None if there is no padding."""
    told = None if bool(padding_mask.all()) else padding_mask
    return lambda weights, x: torch.func.functional_call(module, weights, (x, told))


def answers(
    function: Function, module: nn.Module, x: Tensor, padding_mask: Tensor, dtype: torch.dtype
) -> dict[str, Tensor]:
    """Return the output outside padding, and the gradients of a random sum of it by every weight and the input."""
    given = {"input": x, **dict(module.named_parameters())}
    leaves = {name: each.detach().to(dtype, copy=True).requires_grad_() for name, each in given.items()}
    weights = {name: each for name, each in leaves.items() if name != "input"}
    out = function(weights, leaves["input"])[padding_mask]
    total = (out * drawn(*out.shape, seed=3).to(dtype)).sum()
    gradients = torch.autograd.grad(total, list(leaves.values()), materialize_grads=True)
    return {"output": out.detach(), **dict(zip(leaves, gradients, strict=True))}


def distances(found: dict[str, Tensor], expected: dict[str, Tensor]) -> dict[str, float]:
    """Return for each tensor the largest difference, relative to the largest value expected where that is above 1."""
    assert found.keys() == expected.keys()
    return {name: distance(found[name].double(), each) for name, each in expected.items()}


def cases() -> Iterator[object]:
    """Yield every option at every ratio, and every kernel size at one ratio or more."""
    for index, ratio in enumerate(RATIOS):
        for number, convolution in enumerate(options(1)):
            sizes = KERNEL_SIZES[(index + number) % len(RATIOS) :: len(RATIOS)]
            yield pytest.param(number, ratio, sizes, id=f"{title(convolution)}-{ratio}")


@pytest.mark.parametrize(("number", "ratio", "kernel_sizes"), [*cases()])
def test_the_block_equals_the_equations_at_every_ratio(
    number: int, ratio: int | str, kernel_sizes: tuple[int, ...]
) -> None:
    """Outputs and the gradients of the input and of every weight, in both precisions, with padding and without."""
    for kernel_size in kernel_sizes if number else kernel_sizes[:1]:
        module, sizes = block_of(options(kernel_size)[number], ratio)
        for padding_mask in (padding(True), padding(False)[:1]):
            x = drawn(len(padding_mask), LENGTH, 16)
            expected = answers(by_loops(sizes, padding_mask), module, x, padding_mask, torch.float64)
            for dtype, largest in LARGEST.items():
                found = answers(ours(module, padding_mask), module, x, padding_mask, dtype)
                assert max(distances(found, expected).values()) <= largest, (kernel_size, dtype)


@pytest.mark.parametrize("convolution", options(3), ids=title)
def test_a_change_of_any_weight_is_detected(convolution: Convolution) -> None:
    """The comparison can fail in both precisions, except for a key's bias, which does not affect softmax."""
    module, sizes = block_of(convolution, 4)
    padding_mask, x = padding(True), drawn(len(LENGTHS), LENGTH, 16)
    weights: dict[str, Tensor] = dict(module.named_parameters())
    with torch.no_grad():
        expected = by_loops(sizes, padding_mask)(weights, x)[padding_mask]
        for name, weight in weights.items():
            nudge = NUDGE * drawn(*weight.shape, seed=5).sign()
            found = ours(module, padding_mask)({**weights, name: weight + nudge}, x)[padding_mask]
            assert ((found - expected).abs().max() > 1e-5) == (name != "key.bias"), name


@pytest.mark.parametrize("convolution", options(5), ids=title)
def test_the_encoder_equals_the_equations(convolution: Convolution) -> None:
    """Embeddings, projection, two post-norm blocks and a grouped feed-forward network, with padding."""
    sizes = architecture(convolution, groups=2)
    module, padding_mask = Encoder(sizes, 0.1), padding(True)
    shake(module)
    generator = torch.Generator().manual_seed(2)
    tokens, segments = (torch.randint(limit, padding_mask.shape, generator=generator) for limit in (40, 2))

    def loops(weights: dict[str, Tensor], _: Tensor) -> Tensor:
        return encoder_by_the_equations(weights, tokens, segments, padding_mask, sizes)

    def encoder(weights: dict[str, Tensor], _: Tensor) -> Tensor:
        out: Tensor = torch.func.functional_call(module, weights, (tokens, segments, padding_mask))
        return out

    nothing = torch.zeros(1)
    expected = answers(loops, module, nothing, padding_mask, torch.float64)
    for dtype, largest in LARGEST.items():
        assert max(distances(answers(encoder, module, nothing, padding_mask, dtype), expected).values()) <= largest, (
            dtype
        )

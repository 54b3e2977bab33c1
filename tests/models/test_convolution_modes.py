"""What tells the modes of Table 2 apart: what makes the kernel, what it sums to, and what it slides over."""

import pytest
import torch
from small import convolution, convolutions, stir
from torch import Tensor, nn
from torch.nn.functional import avg_pool1d

from models.convolution import Real, build_branch
from models.initialisation import initialise
from search_space.convolution import OPTIONS
from search_space.convolution.kernel import WithKernel
from search_space.shape import AttentionShape

SHAPE = AttentionShape(width=12, heads=3, head_width=4)
LENGTH, KERNEL_SIZE, MIDDLE = 15, 5, 7
REACH = KERNEL_SIZE // 2
WITH_KERNEL = [option.model_fields["kind"].default for option in OPTIONS if issubclass(option, WithKernel)]
NORMALISED = ("lightweight", "dynamic", "span_dynamic")
FIXED = ("depthwise", "lightweight")  # the kernel is the same for every input


def branch(kind: str, kernel_size: int = KERNEL_SIZE) -> nn.Module:
    chosen = next(each for each in convolutions(kernel_size) if each.kind == kind)
    module = build_branch(chosen, SHAPE)
    assert module is not None
    initialise(module, 1)
    stir(module)
    return module.double().eval()


def added(module: nn.Module, x: Tensor, query: Tensor, real: Real) -> Tensor:
    """Return what the branch adds, with its own values; a mode without any ignores what it is given."""
    value = query if module.value is None else value_map(module)(x)
    found: Tensor = module(x, query, value, real)
    return found


def value_map(module: nn.Module) -> nn.Linear:
    value = module.get_submodule("value")
    assert isinstance(value, nn.Linear)
    return value


def drawn(seed: int, width: int = SHAPE.width) -> Tensor:
    return torch.randn(2, LENGTH, width, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def moved(x: Tensor, place: int) -> Tensor:
    """Return the tokens with one of them replaced."""
    other = x.clone()
    other[:, place] = drawn(99, x.shape[-1])[:, place]
    return other


def kernels(module: nn.Module, x: Tensor, query: Tensor) -> Tensor:
    """Return what the branch's generator gave to the softmax; shape [batch seq heads*kernel]."""
    seen: list[Tensor] = []
    generate = module.get_submodule("generate")
    handle = generate.register_forward_hook(lambda _, __, given: seen.append(given.detach()))
    added(module, x, query, None)
    handle.remove()
    return seen[0]


def changed_places(one: Tensor, other: Tensor) -> list[int]:
    return (one - other).abs().amax((0, 2)).nonzero().flatten().tolist()


def test_attention_alone_has_no_branch() -> None:
    assert build_branch(convolution(OPTIONS[0], 1), SHAPE) is None
    assert [option for option in convolutions() if option.branch_width_ratio == 0] == [convolution(OPTIONS[0], 1)]


@pytest.mark.parametrize("kind", WITH_KERNEL)
def test_a_branch_is_built_for_every_option_and_keeps_the_shape(kind: str) -> None:
    assert added(branch(kind), drawn(1), drawn(2), None).shape == (2, LENGTH, SHAPE.inner_width)


@pytest.mark.parametrize("kind", NORMALISED)
def test_kernels_sum_to_one(kind: str) -> None:
    """Equal values come through unchanged wherever the kernel lies inside the sequence, and are less at the ends."""
    module = branch(kind)
    value = value_map(module)
    with torch.no_grad():
        value.weight.zero_()
    out = added(module, drawn(1), drawn(2), None)
    expected = value.bias.expand_as(out)
    torch.testing.assert_close(out[:, REACH:-REACH], expected[:, REACH:-REACH], rtol=0, atol=1e-12)
    assert (out[:, 0].abs() < expected[:, 0].abs()).all()


@pytest.mark.parametrize("kind", NORMALISED)
def test_a_uniform_kernel_is_a_moving_average(kind: str) -> None:
    module = branch(kind)
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if name.startswith(("generate.", "kernels.")):
                parameter.zero_()
    values = module.get_submodule("value")(drawn(1))
    average = avg_pool1d(values.transpose(1, 2), KERNEL_SIZE, stride=1, padding=REACH).transpose(1, 2)
    torch.testing.assert_close(added(module, drawn(1), drawn(2), None), average, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", NORMALISED)
def test_a_kernel_of_one_token_is_the_value_map(kind: str) -> None:
    module = branch(kind, 1)
    value = value_map(module)
    torch.testing.assert_close(added(module, drawn(1), drawn(2), None), value(drawn(1)), rtol=0, atol=1e-12)


def test_depthwise_starts_as_the_mean_of_its_window() -> None:
    module = build_branch(convolutions(KERNEL_SIZE)[1], SHAPE)
    assert module is not None
    initialise(module, 1)
    x = drawn(1).float()
    average = avg_pool1d(x.transpose(1, 2), KERNEL_SIZE, stride=1, padding=REACH).transpose(1, 2)
    expected = module.get_submodule("convolution.pointwise")(average)
    torch.testing.assert_close(added(module, x, x, None), expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("kind", WITH_KERNEL)
def test_only_a_fixed_kernel_is_linear_in_its_input(kind: str) -> None:
    module = branch(kind)
    one, other, query = drawn(1), drawn(2), drawn(3)
    nothing = torch.zeros_like(one)
    sums = [added(module, x, query, None) for x in (one + other, nothing, one, other)]
    gap = (sums[0] + sums[1] - sums[2] - sums[3]).abs().max().item()
    assert (gap < 1e-12) if kind in FIXED else (gap > 1e-3)


@pytest.mark.parametrize("kind", WITH_KERNEL)
def test_a_token_reaches_half_a_kernel_to_either_side(kind: str) -> None:
    """The span key reads as far as the window does, so no mode sees further than another."""
    module, query = branch(kind), drawn(3)
    touched = changed_places(
        added(module, drawn(1), query, None), added(module, moved(drawn(1), MIDDLE), query, None)
    )
    assert touched == list(range(MIDDLE - REACH, MIDDLE + REACH + 1))


def test_a_dynamic_kernel_is_made_from_its_own_token_alone() -> None:
    module, query = branch("dynamic"), drawn(3)
    before, after = (kernels(module, x, query) for x in (drawn(1), moved(drawn(1), MIDDLE)))
    assert changed_places(before, after) == [MIDDLE]
    assert torch.equal(kernels(module, drawn(1), query), kernels(module, drawn(1), drawn(4)))


def test_a_span_dynamic_kernel_is_made_from_the_whole_span_and_its_own_query() -> None:
    module, query = branch("span_dynamic"), drawn(3)
    before = kernels(module, drawn(1), query)
    span = list(range(MIDDLE - REACH, MIDDLE + REACH + 1))
    assert changed_places(before, kernels(module, moved(drawn(1), MIDDLE), query)) == span
    assert changed_places(before, kernels(module, drawn(1), moved(query, MIDDLE))) == [MIDDLE]


@pytest.mark.parametrize("kind", [*FIXED, "dynamic"])
def test_only_the_span_mode_reads_the_query(kind: str) -> None:
    module = branch(kind)
    assert torch.equal(added(module, drawn(1), drawn(2), None), added(module, drawn(1), drawn(3), None))


@pytest.mark.parametrize("kind", WITH_KERNEL)
def test_padding_is_the_end_of_the_sequence(kind: str) -> None:
    module = branch(kind)
    real = (torch.arange(LENGTH) < MIDDLE).expand(2, -1)
    padded = added(module, drawn(1), drawn(2), real)[:, :MIDDLE]
    cut = added(module, drawn(1)[:, :MIDDLE], drawn(2)[:, :MIDDLE], None)
    torch.testing.assert_close(padded, cut, rtol=0, atol=1e-12)
    unmasked = added(module, drawn(1), drawn(2), None)[:, :MIDDLE]
    assert (unmasked - cut)[:, -1].abs().max() > 1e-3


@pytest.mark.parametrize("kind", NORMALISED)
def test_channels_of_a_head_share_a_kernel_and_heads_do_not(kind: str) -> None:
    """With equal values in every channel, what comes out is equal inside a head and different between heads."""
    module = branch(kind)
    value = value_map(module)
    with torch.no_grad():
        value.weight[:] = value.weight[:1].clone()
        value.bias.fill_(0.5)
    by_head = added(module, drawn(1), drawn(2), None).unflatten(-1, (SHAPE.heads, SHAPE.head_width))
    torch.testing.assert_close(by_head, by_head[..., :1].expand_as(by_head), rtol=0, atol=1e-12)
    assert (by_head[:, :, 0] - by_head[:, :, 1]).abs().max() > 1e-3

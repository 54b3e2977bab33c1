"""What tells the modes of Table 2 apart: what makes the kernel, what it sums to, and what it slides over."""

import pytest
import torch
from torch import Tensor
from torch.nn.functional import avg_pool1d

from search_space.convolution import Convolution, Depthwise, NoConvolution
from search_space.convolution.kernel import WithKernel, WithValue
from search_space.shape import AttentionShape
from steeplechase.models.convolution import build_branch
from steeplechase.models.initialisation import initialise
from tests.factories.branch_harness import Beside
from tests.factories.branch_harness import beside as built_beside
from tests.factories.small_experiments import convolutions, leaking, of_table_2, title, variants

SHAPE = AttentionShape(width=12, heads=3, head_width=4)
LENGTH, KERNEL_SIZE, MIDDLE = 15, 5, 7
REACH = KERNEL_SIZE // 2
WITH_KERNEL = [each for each in of_table_2(variants(KERNEL_SIZE)) if isinstance(each, WithKernel)]
NORMALISED = [each for each in WITH_KERNEL if isinstance(each, WithValue)]
FIXED = ("depthwise", "lightweight")  # the kernel is the same for every input

every_branch = pytest.mark.parametrize("option", WITH_KERNEL, ids=title)
every_normalised = pytest.mark.parametrize("option", NORMALISED, ids=title)


def of_kind(*kinds: str) -> pytest.MarkDecorator:
    chosen = [each for each in WITH_KERNEL if each.kind in kinds]
    return pytest.mark.parametrize("option", chosen, ids=title)


def beside(option: Convolution) -> Beside:
    return built_beside(option, SHAPE)


def drawn(seed: int, width: int = SHAPE.width) -> Tensor:
    return torch.randn(2, LENGTH, width, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def moved(x: Tensor, place: int) -> Tensor:
    """Return the tokens with one of them replaced."""
    other = x.clone()
    other[:, place] = drawn(99, x.shape[-1])[:, place]
    return other


def changed_places(one: Tensor, other: Tensor) -> list[int]:
    places: list[int] = (one - other).flatten(2).abs().amax((0, 2)).nonzero().flatten().tolist()
    return places


def test_attention_alone_has_no_branch() -> None:
    assert build_branch(NoConvolution(), SHAPE) is None
    assert [option for option in convolutions() if option.branch_width_ratio == 0] == [NoConvolution()]


@every_normalised
def test_kernels_sum_to_one(option: Convolution) -> None:
    """Equal values come through unchanged wherever the kernel lies inside the sequence, and are less at the ends."""
    module = beside(option)
    with torch.no_grad():
        module.values.weight.zero_()
    out = module(drawn(1), drawn(2))
    expected = module.values(drawn(1))
    torch.testing.assert_close(out[:, REACH:-REACH], expected[:, REACH:-REACH], rtol=0, atol=1e-12)
    assert (out[:, 0].abs() < expected[:, 0].abs()).all()


@every_normalised
def test_a_uniform_kernel_is_a_moving_average(option: Convolution) -> None:
    module = beside(option)
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if name.startswith(("branch.generate.", "branch.kernels.")):
                parameter.zero_()
    values = module.values(drawn(1))
    average = avg_pool1d(values.transpose(1, 2), KERNEL_SIZE, stride=1, padding=REACH).transpose(1, 2)
    torch.testing.assert_close(module(drawn(1), drawn(2)), average, rtol=0, atol=1e-12)


@every_normalised
def test_a_kernel_of_one_token_gives_the_values(option: Convolution) -> None:
    module = beside(option.model_copy(update={"kernel_size": 1}))
    torch.testing.assert_close(module(drawn(1), drawn(2)), module.values(drawn(1)), rtol=0, atol=1e-12)


@every_normalised
def test_values_are_shared_exactly_where_there_is_no_own_map(option: Convolution) -> None:
    assert isinstance(option, WithValue)
    assert (beside(option).branch.value is None) == (option.value == "shared")


def test_depthwise_starts_as_the_mean_of_its_window() -> None:
    module = Beside(Depthwise(kernel_size=KERNEL_SIZE), SHAPE)
    initialise(module, 1)
    x = drawn(1).float()
    average = avg_pool1d(x.transpose(1, 2), KERNEL_SIZE, stride=1, padding=REACH).transpose(1, 2)
    expected = module.get_submodule("branch.convolution.pointwise")(average)
    torch.testing.assert_close(module(x, x), expected, rtol=0, atol=1e-6)


@every_branch
def test_only_a_fixed_kernel_is_linear_in_its_input(option: Convolution) -> None:
    module = beside(option)
    one, other, query = drawn(1), drawn(2), drawn(3)
    nothing = torch.zeros_like(one)
    sums = [module(x, query) for x in (one + other, nothing, one, other)]
    gap = (sums[0] + sums[1] - sums[2] - sums[3]).abs().max().item()
    assert (gap < 1e-12) if option.kind in FIXED else (gap > 1e-3)


@of_kind("lightweight")
def test_a_lightweight_kernel_is_made_from_nothing(option: Convolution) -> None:
    module = beside(option)
    assert torch.equal(module.kernels(drawn(1), drawn(2)), module.kernels(drawn(3), drawn(4)))


@of_kind("dynamic", "gated_dynamic")
def test_a_dynamic_kernel_is_made_from_its_own_token_alone(option: Convolution) -> None:
    module, query = beside(option), drawn(3)
    before, after = (module.kernels(x, query) for x in (drawn(1), moved(drawn(1), MIDDLE)))
    assert changed_places(before, after) == [MIDDLE]
    assert torch.equal(before, module.kernels(drawn(1), drawn(4)))


@of_kind("span_dynamic")
def test_a_span_dynamic_kernel_is_made_from_the_whole_span_and_its_own_query(option: Convolution) -> None:
    module, query = beside(option), drawn(3)
    before = module.kernels(drawn(1), query)
    span = list(range(MIDDLE - REACH, MIDDLE + REACH + 1))
    assert changed_places(before, module.kernels(moved(drawn(1), MIDDLE), query)) == span
    assert changed_places(before, module.kernels(drawn(1), moved(query, MIDDLE))) == [MIDDLE]


@of_kind(*FIXED, "dynamic", "gated_dynamic")
def test_only_the_span_mode_reads_the_query(option: Convolution) -> None:
    module = beside(option)
    assert torch.equal(module(drawn(1), drawn(2)), module(drawn(1), drawn(3)))


@pytest.mark.parametrize("option", [*WITH_KERNEL, *leaking(KERNEL_SIZE)], ids=title)
def test_padding_leaks_half_a_kernel_far_as_released_and_nowhere_else(option: Convolution) -> None:
    """As released, a sentence's last tokens depend on what stands in the padding behind them."""
    module = beside(option)
    padding_mask = (torch.arange(LENGTH) < MIDDLE).expand(2, -1)
    padding = [torch.where(padding_mask[..., None], drawn(1), drawn(seed)) for seed in (4, 5)]
    one, other = (module(x, drawn(2), padding_mask)[:, :MIDDLE] for x in padding)
    leaks = option in leaking(KERNEL_SIZE)
    assert changed_places(one, other) == (list(range(MIDDLE - REACH, MIDDLE)) if leaks else [])


@every_normalised
def test_channels_of_a_head_share_a_kernel_and_heads_do_not(option: Convolution) -> None:
    """With equal values in every channel, what comes out is equal inside a head and different between heads."""
    module = beside(option)
    with torch.no_grad():
        module.values.weight[:] = module.values.weight[:1].clone()
        module.values.bias.fill_(0.5)
    by_head = module(drawn(1), drawn(2)).unflatten(-1, (SHAPE.heads, SHAPE.head_width))
    torch.testing.assert_close(by_head, by_head[..., :1].expand_as(by_head), rtol=0, atol=1e-12)
    assert (by_head[:, :, 0] - by_head[:, :, 1]).abs().max() > 1e-3

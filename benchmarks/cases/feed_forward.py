"""The grouped feed-forward network against our own dense one. ConvBERT, arXiv 2008.02496, section 3.2, eq. 8."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from benchmarks.measuring import Pace, check, compare
from benchmarks.precision import TOLERANCES
from benchmarks.row import FORWARD_AND_BACKWARD, FULL_SIZE, Figure, Row, Size, speed_figure
from search_space.sublayer.feed_forward import FeedForward
from steeplechase.models.initialisation import initialise
from steeplechase.models.sublayer.feed_forward import Sublayer

WIDTH, INNER = 256, 1024
REACH = {4: 2.9, 2: 1.0, 8: 1.0, 16: 1.0}  # by groups: never slower than dense, and much faster at 4


def rows(size: Size = FULL_SIZE) -> Iterator[Row]:
    """Yield one row per number of groups."""
    tokens = size.batch * size.length
    for groups, reach in REACH.items():
        name = f"grouped feed-forward, g={groups}, {tokens} tokens, {WIDTH}-{INNER}-{WIDTH}"
        yield Row(name, "our dense feed-forward", reach, lambda pace, g=groups: _measure(size, g, pace))  # type: ignore[misc]


def agree(grouped: Sublayer, groups: int, size: Size) -> None:
    """Compare the grouped network with a dense one with the same block-diagonal matrices."""
    dense = network(1)
    with torch.no_grad():
        for name, parameter in grouped.named_parameters():
            blocks = parameter.ndim == 3
            dense.get_parameter(name).copy_(torch.block_diag(*parameter).T if blocks else parameter)
    x = _inputs(size)
    check(f"feed-forward with {groups} groups", grouped(x), dense(x), TOLERANCES[torch.float32])


def network(groups: int) -> Sublayer:
    """Return our network, initialised."""
    built = Sublayer(FeedForward(WIDTH, INNER, groups), 0.0)
    initialise(built, 1)
    return built


def _inputs(size: Size) -> Tensor:
    random = torch.Generator().manual_seed(1)
    return torch.randn(size.batch, size.length, WIDTH, generator=random).requires_grad_()


def _measure(size: Size, groups: int, pace: Pace) -> Figure:
    grouped = network(groups)
    agree(grouped, groups, size)
    compared = compare(_step(grouped, size), _step(network(1), size), pace)
    operations = FORWARD_AND_BACKWARD * 2 * size.batch * size.length * 2 * WIDTH * INNER / groups
    return speed_figure(compared, operations)


def _step(network: Sublayer, size: Size) -> Callable[[], object]:
    x = _inputs(size)
    direction = torch.randn(x.shape, generator=torch.Generator().manual_seed(2))
    wanted = [x, *network.parameters()]
    return lambda: torch.autograd.grad(network(x), wanted, direction)

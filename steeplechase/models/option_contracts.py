"""Contracts of an option of the convolution axis: what its declaration and its module promise each other.

They hold for every option, in this repository or in a plugin. A contract that needs what an option does not declare
(`elementwise_flops`, `reach`) is skipped and says so. An option is checked at its defaults and at its `examples`.
"""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from search_space.convolution.option import ConvolutionOption
from search_space.cost import MATMUL
from search_space.shape import AttentionShape
from steeplechase.models.activation_checkpointing import saved_bytes
from steeplechase.models.contract import (
    Broken,
    NotDeclared,
    Outcome,
    outcomes_at_examples,
    outcomes_of,
    survives_json,
)
from steeplechase.models.convolution import PaddingMask, build_branch
from steeplechase.models.initialisation import initialise

SHAPES = (AttentionShape(24, 3, 8), AttentionShape(32, 2, 8), AttentionShape(12, 3, 4))
"""Without and with a bottleneck, an odd and an even number of heads."""
MEMORY_SHAPE = AttentionShape(32, 2, 8)
SEQUENCES, TOKENS = 4, 1024
"""Of the memory contract: so many that copies of weights and of the ends of sequences are negligible."""
MEMORY_TOLERANCE, MEMORY_ROUNDING = 0.02, 0.5
"""Relative, and in values per token: copies of weights."""
SMALLEST_CHANGE, LARGEST_ROUNDING = 1e-6, 1e-10


class Sublayer(nn.Module):
    """A branch with the maps that attention has beside it: a function of the tokens alone."""

    def __init__(self, option: ConvolutionOption, shape: AttentionShape) -> None:
        super().__init__()
        branch = build_branch(option, shape)
        assert branch is not None
        self.branch = branch
        self.query = nn.Linear(shape.width, shape.inner_width)
        self.value = nn.Linear(shape.width, shape.inner_width)

    def forward(self, x: Tensor, padding_mask: PaddingMask = None) -> Tensor:
        """Return the branch's output, [batch seq inner]."""
        value = self.value(x) if self.branch.value is None else self.branch.value(x)
        mixed: Tensor = self.branch(x, self.query(x), value, padding_mask)
        return mixed


def contracts_of(axis: type[ConvolutionOption]) -> Iterator[Outcome]:
    """Return the outcome of every contract for an option, at each of its examples."""
    return outcomes_at_examples(axis, outcomes)


def outcomes(option: ConvolutionOption, title: str) -> Iterator[Outcome]:
    """Return the outcome of every contract for an option with its settings."""
    return outcomes_of(CONTRACTS, option, title)


def parameters_are_those_built(option: ConvolutionOption) -> None:
    """Check `parameters` against the module at several sizes."""
    for shape in SHAPES:
        branch = _built(option, shape, "meta").branch if option.branch_width_ratio else nn.Identity()
        built = sum(parameter.numel() for parameter in branch.parameters())
        _equal(f"parameters at width {shape.width}", option.parameters(shape), built)


def output_has_the_declared_width(option: ConvolutionOption) -> None:
    """Check that the output has `branch_width_ratio` inner widths."""
    for shape in _shapes(option):
        out = _built(option, shape, "meta")(torch.zeros(2, 16, shape.width, device="meta"))
        _equal("output", (2, 16, option.branch_width_ratio * shape.inner_width), tuple(out.shape))


def flops_are_those_counted(option: ConvolutionOption) -> None:
    """Check `operations` without `elementwise_flops` against torch's FLOP counter."""
    for shape in _shapes(option):
        elementwise = option.elementwise_flops(shape)
        if elementwise is None:
            raise NotDeclared("elementwise_flops is not declared")
        module = _built(option, shape, "meta")
        with FlopCounterMode(display=False) as counter:
            module(torch.zeros(2, 16, shape.width, device="meta"))
        attention_maps = 2 * shape.width * shape.inner_width * (1 if module.branch.value is not None else 2)
        declared = option.operations(shape).priced(MATMUL.prices) - elementwise
        _equal(f"FLOPs per token at width {shape.width}", declared, counter.get_total_flops() // 32 - attention_maps)


def saved_activations_are_those_kept(option: ConvolutionOption) -> None:
    """Check that `saved_activations` is within 2% of what the branch keeps for the backward pass.

    Its inputs are excluded, because attention keeps them as well; its own value map's output is included.
    """
    if option.branch_width_ratio:
        module = _built(option, MEMORY_SHAPE)
        kept = _saved_values(module.branch, MEMORY_SHAPE) / (SEQUENCES * TOKENS)
        declared = option.saved_activations(MEMORY_SHAPE)
        if abs(kept - declared) > MEMORY_TOLERANCE * kept + MEMORY_ROUNDING:
            raise Broken(
                f"saved values per token at width {MEMORY_SHAPE.width}: declared {declared:,}, kept {kept:,.1f}"
            )


def gradients_reach_every_parameter(option: ConvolutionOption) -> None:
    """Check that the output depends on every parameter of the branch."""
    for shape in _shapes(option)[:1]:
        module = _stirred(option, shape)
        out = module(_tokens(shape, 1), torch.arange(16).expand(2, -1) < 12)
        (out * torch.randn(out.shape, generator=torch.Generator().manual_seed(4), dtype=out.dtype)).sum().backward()
        silent = [name for name, each in module.branch.named_parameters() if each.grad is None or not each.grad.any()]
        if silent:
            raise Broken(f"no gradient: {', '.join(silent)}")


def padding_is_the_end_of_the_sequence(option: ConvolutionOption) -> None:
    """Check that neither the content nor the amount of padding changes the output at other positions."""
    for shape in _shapes(option)[:1]:
        module, x = _stirred(option, shape), _tokens(shape, 1)
        mask = (torch.arange(16) < 9).expand(2, -1)
        other = torch.where(mask[..., None], x, _tokens(shape, 2))
        outputs = {"content": module(other, mask)[:, :9], "amount": module(x[:, :9])}
        for what, out in outputs.items():
            change = (module(x, mask)[:, :9] - out).abs().max().item()
            if not change <= LARGEST_ROUNDING:
                raise Broken(f"the {what} of padding changes other positions by up to {change:.2g}")


def window_is_the_declared_reach(option: ConvolutionOption) -> None:
    """Check that a changed token changes outputs as far as `reach` on both sides, and no further."""
    if option.reach is None:
        raise NotDeclared("reach is not declared")
    back, ahead = option.reach.look_back, option.reach.look_ahead
    for shape in _shapes(option)[:1]:
        module = _stirred(option, shape)
        before = _tokens(shape, 1, back + ahead + 9)
        place = ahead + 4
        after = before.clone()
        after[:, place] += 1
        change = (module(after) - module(before)).abs().amax((0, 2))
        touched = (change > SMALLEST_CHANGE).nonzero().flatten().tolist()
        seen = (max(touched) - place, place - min(touched)) if touched else None
        _equal("tokens looked back and ahead", (back, ahead), seen)


def start_is_a_function_of_the_seed(option: ConvolutionOption) -> None:
    """Check that initial values follow from the seed, without torch's generator, and are drawn or constant."""
    for shape in _shapes(option)[:1]:
        first, again, other = (_started(option, shape, seed) for seed in (1, 1, 2))
        for name, weight in first.items():
            if not torch.equal(weight, again[name]):
                raise Broken(f"{name} differs between two starts with one seed")
            if torch.equal(weight, other[name]) and not (weight == weight.flatten()[0]).all():
                raise Broken(f"{name} is drawn, and the same with another seed")


CONTRACTS: dict[str, Callable[[ConvolutionOption], None]] = {
    "the declaration survives JSON": survives_json,
    "parameters are those of the built module": parameters_are_those_built,
    "the output has the declared width": output_has_the_declared_width,
    "FLOPs are those counted on the built module": flops_are_those_counted,
    "saved activations are those the built module keeps": saved_activations_are_those_kept,
    "gradients reach every parameter": gradients_reach_every_parameter,
    "padding is the end of the sequence": padding_is_the_end_of_the_sequence,
    "the window is the declared reach": window_is_the_declared_reach,
    "initial values are a function of the seed": start_is_a_function_of_the_seed,
}
"""By name."""


def _equal(what: str, declared: object, built: object) -> None:
    if declared != built:
        raise Broken(f"{what}: declared {declared}, built {built}")


def _shapes(option: ConvolutionOption) -> tuple[AttentionShape, ...]:
    """Return the sizes to build; none for an option without a branch."""
    return SHAPES if option.branch_width_ratio else ()


def _built(option: ConvolutionOption, shape: AttentionShape, device: str = "cpu") -> Sublayer:
    with torch.device(device):
        module = Sublayer(option, shape)
    if device == "cpu":
        initialise(module, 1)
    return module


def _stirred(option: ConvolutionOption, shape: AttentionShape) -> Sublayer:
    """Return the module in double precision, with every parameter far from its initial value."""
    module, generator = _built(option, shape), torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator), alpha=0.3)
    return module.double().eval()


def _tokens(shape: AttentionShape, seed: int, length: int = 16) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(2, length, shape.width, generator=generator, dtype=torch.float64)


def _started(option: ConvolutionOption, shape: AttentionShape, seed: int) -> dict[str, Tensor]:
    branch = build_branch(option, shape)
    assert branch is not None
    state = torch.get_rng_state()
    initialise(branch, seed)
    if not torch.equal(torch.get_rng_state(), state):
        raise Broken("initialisation draws from torch's global generator")
    return {name: parameter.detach() for name, parameter in branch.named_parameters()}


def _saved_values(branch: nn.Module, shape: AttentionShape) -> float:
    """Return the values that a forward pass saves for the backward pass, without its inputs.

    Its output is saved by the output map, which counts it.
    """
    x, query, value = (
        torch.randn(SEQUENCES, TOKENS, width, requires_grad=True) * 1.0
        for width in (shape.width, shape.inner_width, shape.inner_width)
    )

    def forward() -> Tensor:
        own = branch.value
        out: Tensor = branch(x, query, own(x) if callable(own) else value, None)
        return out

    return saved_bytes(forward, (x, query, value, *branch.parameters()), output=False) / 4

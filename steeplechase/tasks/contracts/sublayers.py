"""Contracts of a sublayer of layer programs: what its declaration and its module promise each other.

It is measured alone, at width 24, and in the small candidate of `small_candidates`, as `(s x)*2`; plugins too.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from search_space.cost import Operations
from search_space.layer_program import Setting, Sublayer
from search_space.sublayer.attention import SelfAttention
from search_space.sublayer.sublayer import InvalidSetting, LetteredSublayer
from search_space.visibility import VISIBLE_SIDE, Visibility
from steeplechase.models.activation_checkpointing import saved_bytes
from steeplechase.models.contract import Broken, NotDeclared, Outcome, outcomes_of
from steeplechase.models.initialisation import initialise
from steeplechase.models.sublayer import build_sublayer
from steeplechase.tasks.contracts.candidates import CONTRACTS as OF_CANDIDATES
from steeplechase.tasks.contracts.small_candidates import with_layers

LENGTH, ROWS = 16, 3
MEMORY_ROWS, MEMORY_LENGTH = 8, 512
"""Of the memory contract: so many tokens that copies of weights and masks of windows are negligible."""
MEMORY_TOLERANCE, MEMORY_ROUNDING = 0.02, 1.0
"""Relative, and in values per token."""
LARGEST_ROUNDING, SMALLEST_CHANGE = 1e-9, 1e-9
VISIBILITIES: tuple[Visibility, ...] = ("bidirectional", "left_to_right", "right_to_left")


@dataclass(frozen=True)
class Placed:
    """A sublayer with settings of a program."""

    kind: type[LetteredSublayer]
    settings: Mapping[str, Setting]

    @property
    def text(self) -> str:
        """It as a program writes it."""
        return str(Sublayer(self.kind.letter, tuple(sorted(self.settings.items()))))

    def declaration(self, visibility: Visibility = "bidirectional") -> LetteredSublayer:
        """Return its declaration in a stack of the contracts' sizes. Raises InvalidSetting."""
        return self.kind.of(self.settings, with_layers("s f", visibility).architecture.stack_sizes)


def sublayer_contracts(kind: type[LetteredSublayer]) -> Iterator[Outcome]:
    """Yield the outcome of every contract of a sublayer at each of its examples."""
    for settings in kind.examples:
        placed = Placed(kind, settings)
        title = f"{kind.kind}, {placed.text}"
        candidate = with_layers(f"(s {placed.text})*2")
        violation = next(candidate.violations(), None)
        if violation is not None:
            yield Outcome(title, "its examples are settings", problem=violation.message)
            continue
        yield from outcomes_of(CONTRACTS, placed, title)
        yield from outcomes_of(OF_CANDIDATES, candidate, title)


def parameters_are_those_built(placed: Placed) -> None:
    """Check the parameters of its components against the module."""
    declaration = placed.declaration()
    declared = sum(part.parameters for part in declaration.components(LENGTH))
    built = sum(each.numel() for each in build_sublayer(declaration, 0.0).parameters())
    if declared != built:
        raise Broken(f"parameters: declared {declared:,}, built {built:,}")


def output_has_the_width(placed: Placed) -> None:
    """Check that the output is [batch seq width]."""
    declaration = placed.declaration()
    out = build_sublayer(declaration, 0.0)(torch.zeros(ROWS, LENGTH, declaration.width))
    if out.shape != (ROWS, LENGTH, declaration.width):
        raise Broken(f"output {tuple(out.shape)}; the input is {(ROWS, LENGTH, declaration.width)}")


def multiply_adds_are_those_counted(placed: Placed) -> None:
    """Check the declared multiply–adds against torch's FLOP counter."""
    declaration = _measurable(placed)
    if isinstance(declaration, SelfAttention):
        declaration = replace(declaration, local=None)  # a window is a mask at this length, which the counter ignores
    operations = sum((part.operations for part in declaration.components(LENGTH)), Operations())
    module = build_sublayer(declaration, 0.0)
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        module(torch.zeros(ROWS, LENGTH, declaration.width))
    counted = counter.get_total_flops() // (2 * ROWS * LENGTH)
    declared = operations.multiply_adds - _multiply_adds_of_windows(declaration)
    if declared != counted:
        raise Broken(f"multiply–adds per token: declared {declared:,}, counted {counted:,}")


def saved_activations_are_those_kept(placed: Placed) -> None:
    """Check the declared values, the input's included, within 2% of what the backward pass keeps."""
    declaration = _measurable(placed)
    module = build_sublayer(declaration, 0.0)
    x = torch.randn(MEMORY_ROWS, MEMORY_LENGTH, declaration.width, requires_grad=True) * 1.0
    kept = (
        saved_bytes(lambda: _output(module, x), module.parameters(), output=False) / 4 / (MEMORY_ROWS * MEMORY_LENGTH)
    )
    declared = sum(part.saved_activations for part in declaration.components(MEMORY_LENGTH))
    if abs(kept - declared) > MEMORY_TOLERANCE * kept + MEMORY_ROUNDING:
        raise Broken(f"saved values per token: declared {declared:,}, kept {kept:,.1f}")


def hidden_tokens_change_nothing(placed: Placed) -> None:
    """Check that a token changes no output that cannot see it, at every visibility that the sublayer takes."""
    for visibility in VISIBILITIES:
        try:
            module, x = _stirred(placed.declaration(visibility))
        except InvalidSetting:
            continue
        change = _change_by_one_token(module, x)
        hidden = {"before": change[: LENGTH // 2], "behind": change[LENGTH // 2 + 1 :], "both": change[:0]}
        seen = hidden[VISIBLE_SIDE[visibility]]
        if len(seen) and not seen.max() <= LARGEST_ROUNDING:
            raise Broken(f"with visibility {visibility} a hidden token changes outputs by up to {seen.max():.2g}")


def positions_interact_as_declared(placed: Placed) -> None:
    """Check `positionwise` by a changed token."""
    module, x = _stirred(placed.declaration())
    change = _change_by_one_token(module, x)
    others = torch.cat([change[: LENGTH // 2], change[LENGTH // 2 + 1 :]]).max().item()
    if (others <= SMALLEST_CHANGE) != placed.kind.positionwise:
        raise Broken(
            f"positionwise is {placed.kind.positionwise}, and a token changes other outputs by up to {others:.2g}"
        )


def start_is_a_function_of_the_seed(placed: Placed) -> None:
    """Check that initial values follow from the seed, without torch's generator."""
    starts = [_started(placed.declaration(), seed) for seed in (1, 1, 2)]
    for name, weight in starts[0].items():
        if not torch.equal(weight, starts[1][name]):
            raise Broken(f"{name} differs between two starts with one seed")
        if torch.equal(weight, starts[2][name]) and not (weight == weight.flatten()[0]).all():
            raise Broken(f"{name} is drawn, and the same with another seed")


CONTRACTS: Mapping[str, Callable[[Placed], None]] = {
    "its parameters are those of the built module": parameters_are_those_built,
    "the output has the width": output_has_the_width,
    "multiply–adds are those counted": multiply_adds_are_those_counted,
    "saved activations are those kept": saved_activations_are_those_kept,
    "hidden tokens change nothing": hidden_tokens_change_nothing,
    "positions interact as declared": positions_interact_as_declared,
    "initial values are a function of the seed": start_is_a_function_of_the_seed,
}
"""By name, beside those of the candidate."""


def _measurable(placed: Placed) -> LetteredSublayer:
    if not placed.kind.measurable:
        raise NotDeclared("measurable is False")
    return placed.declaration()


def _multiply_adds_of_windows(declaration: LetteredSublayer) -> int:
    """Return those per token of a convolution's windows, which the counter omits."""
    if not isinstance(declaration, SelfAttention):
        return 0
    convolution, shape = declaration.convolution, declaration.shape
    elementwise = convolution.elementwise_flops(shape)
    if elementwise is None:
        raise NotDeclared(f"the convolution {convolution.kind} declares no elementwise_flops")
    return (elementwise - convolution.operations(shape).products) // 2


def _output(module: nn.Module, x: Tensor) -> Tensor:
    out: Tensor = module(x)
    return out


@torch.inference_mode()
def _change_by_one_token(module: nn.Module, x: Tensor) -> Tensor:
    """Return by position, [seq], the largest change of an output where the token in the middle is another."""
    changed = x.clone()
    changed[:, LENGTH // 2] += 1
    return (_output(module, changed) - _output(module, x)).abs().amax((0, 2))


def _stirred(declaration: LetteredSublayer) -> tuple[nn.Module, Tensor]:
    """Return the module in double precision, every parameter far from its start, and an input."""
    module, generator = build_sublayer(declaration, 0.0), torch.Generator().manual_seed(1)
    initialise(module, 1)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator), alpha=0.3)
    x = torch.randn(ROWS, LENGTH, declaration.width, generator=generator, dtype=torch.float64)
    return module.double().eval(), x


def _started(declaration: LetteredSublayer, seed: int) -> dict[str, Tensor]:
    module = build_sublayer(declaration, 0.0)
    state = torch.get_rng_state()
    initialise(module, seed)
    if not torch.equal(torch.get_rng_state(), state):
        raise Broken("initialisation draws from torch's global generator")
    return {name: parameter.detach() for name, parameter in module.named_parameters()}

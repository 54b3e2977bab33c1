"""A chain of operations inside one residual: the convolution cells of the Evolved Transformer (So et al. 2019).

Source of the operations' form: arXiv 1901.11117, Figure 3, and tensor2tensor's models/evolved_transformer.py.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import ClassVar, get_args

from search_space.activation import Activation, activation_operations
from search_space.cost import Component, Operations, Role, linear
from search_space.layer_program import Chain, Operation, OperationKind, ParallelOperations
from search_space.norm import STATISTICS, Norm, norm_parameters
from search_space.shape import AttentionShape, linear_parameters
from search_space.sublayer.sublayer import StackSizes, SublayerDeclaration
from search_space.visibility import VISIBLE_SIDE, Visibility


@dataclass(frozen=True)
class Step:
    """One operation with its sizes in channels."""

    kind: OperationKind
    inputs: int
    outputs: int
    kernel_size: int = 1
    activation: Activation | None = None
    norm: Norm | None = None
    """What a norm computes; None for another operation."""

    @property
    def parameters(self) -> int:
        """Trainable parameters."""
        if self.norm is not None:
            return norm_parameters(self.norm, self.inputs)
        if self.kind is OperationKind.SEPARABLE:
            return self.kernel_size * self.inputs + linear_parameters(self.inputs, self.outputs)
        return linear_parameters(self.kernel_size * self.inputs, self.outputs)

    @property
    def operations(self) -> Operations:
        """Operations per token."""
        if self.norm is not None:
            return Operations(normalised=self.inputs)
        found = linear(self.kernel_size * self.inputs, self.outputs)
        if self.kind is OperationKind.SEPARABLE:
            depthwise = Operations(multiply_adds=self.kernel_size * self.inputs)
            found = depthwise + linear(self.inputs, self.outputs)
        return found if self.activation is None else found + activation_operations(self.activation, self.outputs)

    def copies_input(self, visibility: Visibility) -> bool:
        """Return whether it saves a copy of its input, with zeros around it, and not the input itself."""
        if self.kind is OperationKind.SEPARABLE:
            return self.kernel_size > 1 and VISIBLE_SIDE[visibility] != "both"
        return self.kind is OperationKind.CONVOLUTION

    @property
    def saves_output(self) -> bool:
        """Whether it saves what it returns: a rectifier's gradient needs its output alone."""
        return self.activation == "relu"

    def saved_activations(self, visibility: Visibility) -> int:
        """Return the values per token that it saves for the backward pass: what it reads and what it activates."""
        inside = self.inputs if self.kind is OperationKind.SEPARABLE else 0
        statistics = 0 if self.norm is None else STATISTICS[self.norm]
        activated = self.outputs if self.activation is not None else 0
        return self.inputs + inside + statistics + activated


@dataclass(frozen=True)
class Branches:
    """Two operations on the same input, added; the narrower output is padded with zeros."""

    first: Step
    second: Step

    @property
    def kernel_size(self) -> int:
        """Tokens under the wider kernel."""
        return max(self.first.kernel_size, self.second.kernel_size)

    @property
    def outputs(self) -> int:
        """Channels of the sum."""
        return max(self.first.outputs, self.second.outputs)

    @property
    def parameters(self) -> int:
        """Trainable parameters of both."""
        return self.first.parameters + self.second.parameters

    @property
    def operations(self) -> Operations:
        """Operations of both per token, and of the sum."""
        narrower = min(self.first.outputs, self.second.outputs)
        return self.first.operations + self.second.operations + Operations(additions=narrower)

    def copies_input(self, visibility: Visibility) -> bool:
        """Return whether both save copies of their input alone."""
        return self.first.copies_input(visibility) and self.second.copies_input(visibility)

    @property
    def saves_output(self) -> bool:
        """Whether the sum is saved: neither branch needs it."""
        return False

    def saved_activations(self, visibility: Visibility) -> int:
        """Return the values per token that both save; an input that both save as it is counts once."""
        copied = self.first.copies_input(visibility) or self.second.copies_input(visibility)
        both = self.first.saved_activations(visibility) + self.second.saved_activations(visibility)
        return both - (0 if copied else self.first.inputs)


@dataclass(frozen=True)
class OperationChain(SublayerDeclaration):
    """Operations one after the other; an output narrower than the width is padded with zeros."""

    kind: ClassVar[str] = "operation_chain"
    width: int
    steps: tuple[Step | Branches, ...]
    visibility: Visibility = "bidirectional"
    """A kernel is centred where all tokens are visible; else it lies on the visible side."""

    @property
    def widening(self) -> int:
        """Tokens that its convolutions add to the receptive field."""
        return sum(step.kernel_size - 1 for step in self.steps)

    def __str__(self) -> str:
        """Return the sizes in words."""
        return f"{len(self.steps)} operations in a chain"

    def components(self, length: int) -> Iterator[Component]:
        """Yield the chain as one component."""
        operations = Operations(additions=min(self.width, self.steps[-1].outputs), dropped=self.width)
        for step in self.steps:
            operations += step.operations
        parameters = sum(step.parameters for step in self.steps)
        yield Component(Role.OPERATION_CHAIN, AttentionShape(self.width, 0, 0), parameters, operations, self._saved)

    @property
    def copies_input(self) -> bool:
        """Whether the first operation saves a copy of the input, and not the input itself."""
        return self.steps[0].copies_input(self.visibility)

    @property
    def _saved(self) -> int:
        """Values per token that are saved, an output that the next operation saves as its input once."""
        saved = sum(step.saved_activations(self.visibility) for step in self.steps)
        return saved - sum(
            before.outputs
            for before, after in pairwise(self.steps)
            if before.saves_output and not after.copies_input(self.visibility)
        )

    def mistakes(self) -> Iterator[str]:
        """Yield the output that is wider than the model: it cannot be added to the residual."""
        if self.steps[-1].outputs > self.width:
            outputs = self.steps[-1].outputs
            yield f"the chain ends with {outputs} channels, more than the model's {self.width}"


class InvalidChain(ValueError):
    """An operation has no channel at this width, or an unknown activation."""


def operation_chain(chain: Chain, sizes: StackSizes) -> OperationChain:
    """Return a parsed chain with its sizes in channels. Raises InvalidChain."""
    steps: list[Step | Branches] = []
    inputs = sizes.width
    for operation in chain.operations:
        made: Step | Branches
        if isinstance(operation, ParallelOperations):
            first, second = (_step(branch, inputs, sizes) for branch in operation.branches)
            made = Branches(first, second)
        else:
            made = _step(operation, inputs, sizes)
        steps.append(made)
        inputs = made.outputs
    return OperationChain(sizes.width, tuple(steps), sizes.visibility)


def _step(operation: Operation, inputs: int, sizes: StackSizes) -> Step:
    outputs = inputs if operation.width is None else Fraction(sizes.width) * operation.width
    if outputs != int(outputs) or outputs < 1:
        raise InvalidChain(f"{operation} has {float(outputs):g} channels at width {sizes.width}")
    if operation.activation not in (None, *get_args(Activation)):
        allowed = ", ".join(get_args(Activation))
        raise InvalidChain(f"{operation.activation!r} is no activation; allowed: {allowed}")
    activation: Activation | None = operation.activation  # type: ignore[assignment]
    norm = sizes.norm if operation.kind is OperationKind.NORM else None
    return Step(operation.kind, inputs, int(outputs), operation.kernel_size or 1, activation, norm)

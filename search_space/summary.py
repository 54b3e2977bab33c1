"""Summary of an architecture: cost by component, memory, receptive field, and the share of every branch."""

from collections.abc import Iterable
from dataclasses import dataclass

from search_space.activation_memory import VALUE_BYTES, ActivationMemory, activation_memory
from search_space.architecture import Architecture
from search_space.cost import Component, Convention, Role
from search_space.objective import Objective

BRANCHES = {
    "attention": (Role.ATTENTION_MAPS, Role.ATTENTION_SCORES),
    "convolution": (Role.CONVOLUTION,),
}
"""Roles of the branches of a block, which are concatenated before its output map."""


@dataclass(frozen=True)
class Subject:
    """The architecture to describe, with an optional objective."""

    name: str
    architecture: Architecture
    objective: Objective | None
    baseline: Architecture
    """Its generator corrupts the input if the objective shares the baseline's generator."""
    dropout: float


@dataclass(frozen=True)
class PartCost:
    """Costs of a component in all its copies."""

    role: Role
    owner: str
    name: str
    copies: int
    distinct: int
    """Copies with parameters of their own."""
    parameters: int
    forward_flops: int
    """On one sequence."""


@dataclass(frozen=True)
class Share:
    """One branch's share of all branches; the output map, which serves all, is excluded."""

    parameters: float
    forward_flops: float
    width: float
    """Share of the concatenation before the output map."""


@dataclass(frozen=True)
class Description:
    """A subject at one length and batch, counted by one convention."""

    subject: Subject
    length: int
    batch: int
    convention: Convention
    parts: tuple[PartCost, ...]
    """Components of the encoder; they sum to its totals."""
    heads: tuple[PartCost, ...]
    """Components that pretraining adds."""
    memory: dict[str, ActivationMemory]
    """By data type."""
    update_flops: int | None
    """FLOPs of one pretraining update on the batch, generator and heads included; None without an objective."""

    @property
    def parameters(self) -> int:
        """Trainable parameters of the encoder with its embeddings."""
        return sum(part.parameters for part in self.parts)

    @property
    def forward_flops(self) -> int:
        """FLOPs of one forward pass of the encoder over one sequence."""
        return sum(part.forward_flops for part in self.parts)

    @property
    def head_parameters(self) -> int | None:
        """Trainable parameters that pretraining adds; None without an objective."""
        return sum(part.parameters for part in self.heads) if self.subject.objective is not None else None

    def train_flops(self, updates: int | None) -> int | None:
        """Return the FLOPs of `updates` pretraining updates; None if either number is unknown."""
        return None if updates is None or self.update_flops is None else updates * self.update_flops

    @property
    def branches(self) -> dict[str, Share]:
        """Every branch's share, by its name; zero where no block has it."""
        architecture = self.subject.architecture
        attention = architecture.attention_shape.inner_width
        widths = {"attention": attention, "convolution": architecture.context_width - attention}
        parts = {name: [part for part in self.parts if part.role in roles] for name, roles in BRANCHES.items()}
        if not any(parts.values()):
            return dict.fromkeys(BRANCHES, Share(0.0, 0.0, 0.0))
        parameters, flops = (
            {name: sum(getattr(part, cost) for part in own) for name, own in parts.items()}
            for cost in ("parameters", "forward_flops")
        )
        return {
            name: Share(
                parameters[name] / (sum(parameters.values()) or 1),
                flops[name] / (sum(flops.values()) or 1),
                widths[name] / architecture.context_width,
            )
            for name in BRANCHES
        }


def describe(subject: Subject, length: int, batch: int, convention: Convention) -> Description:
    """Return the description of a subject on batches of `batch` sequences of `length` tokens."""
    architecture, objective = subject.architecture, subject.objective
    heads: tuple[PartCost, ...] = ()
    if objective is not None:
        generator = objective.generator_of(architecture, subject.baseline)
        added = objective.added_parts(architecture, generator, length)
        heads = _costs(added, length, objective.predictions(length), convention)
    memory = {
        name: activation_memory(architecture, length, batch, size, subject.dropout)
        for name, size in VALUE_BYTES.items()
    }
    parts = _costs(architecture.parts(length), length, 0, convention)
    update = None
    if objective is not None:
        both = sum(part.forward_flops for part in (*parts, *heads))
        update = convention.training_passes * both * batch
    return Description(subject, length, batch, convention, parts, heads, memory, update)


def receptive_field(architecture: Architecture) -> int | None:
    """Return the receptive field of the stacked convolutions in tokens, 1 + L (reach - 1); None without a window."""
    widening = sum(sublayer.widening for block in architecture.blocks for sublayer in block)
    return 1 + widening if widening or architecture.convolution.reach is not None else None


def _costs(parts: Iterable[Component], length: int, predictions: int, convention: Convention) -> tuple[PartCost, ...]:
    def cost(part: Component) -> PartCost:
        flops = convention.part_flops(part, length, predictions)
        distinct = part.copies if part.distinct is None else part.distinct
        return PartCost(part.role, part.owner, part.name, part.copies, distinct, part.all_parameters, flops)

    return tuple(map(cost, parts))

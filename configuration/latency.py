"""A latency experiment: one part of several architectures, timed at several sequence lengths. Data, no torch.

The comparison that ConvBERT makes in its Table 9 (arXiv 2008.02496). What the part needs is known in closed form
before anything is timed.
"""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import Field

from configuration.arm import Arm, changed_arm
from foundation.errors import Violation
from foundation.schema import Count, JsonValue, Name, Schema, Seed, canonical
from search_space.architecture import Architecture
from search_space.candidate import Candidate
from search_space.cost import MATMUL, Component, Convention, Role
from search_space.overrides import ROOTS, InvalidOverride
from search_space.recipe import Recipe

FASTER = r"^\S+ > \S+$"
Part = Literal["attention", "block"]
ATTENTION = (Role.ATTENTION_MAPS, Role.ATTENTION_SCORES, Role.CONVOLUTION, Role.OUTPUT_MAP)


class SpeedStatement(Schema):
    """What a paper says of the arms' speed, in our words, with its source."""

    source: str
    """The paper, with the table or section."""
    statement: str
    """What the paper says on speed, in our words."""
    orderings: tuple[Annotated[str, Field(pattern=FASTER)], ...] = Field(default=(), examples=[["mixed > attention"]])
    """`a > b`: a takes fewer operations and less time than b, at every length."""
    widening: tuple[Name, ...] = Field(default=(), examples=[["mixed"]])
    """Arms whose gain over the baseline is larger on the longest input than on the shortest."""


class Timing(Schema):
    """What is timed, on which inputs, how often and with what."""

    part: Part = "attention"
    """`attention`: the mixed-attention sublayer alone. `block`: with the feed-forward network and normalisations."""
    lengths: tuple[Count, ...] = Field(min_length=1, examples=[[64, 128, 256, 512, 1024]])
    """Tokens per sequence, none of them padding."""
    batch_sequences: Count = 1
    """Sequences of a batch."""
    rounds: Count = 100
    """Each round passes every arm once, in an order drawn anew: the pairs of the paired ratios."""
    warm_up_rounds: Annotated[int, Field(ge=0, le=2**53)] = 5
    """Rounds before the first that counts."""
    seed: Seed = 1
    """Draws the weights, the inputs and the orders."""
    device: Literal["cpu", "cuda"] = "cpu"
    """Where the part is timed."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """Precision of matrix products and what lies between them."""


class LatencyExperiment(Schema):
    """One question about speed at one scale."""

    experiment: Name = Field(examples=["table9"])
    """The experiment's name: part of its results folder."""
    question: str = Field(min_length=1, max_length=400, examples=["Is the mixed block faster than attention?"])
    """What the experiment asks, in one sentence; the report begins with it."""
    paper: SpeedStatement | None = None
    """What a paper says on the arms' speed."""
    architecture: Architecture = Field(default_factory=Architecture)
    """What the arms change. The sizes of its embeddings play no part: they are not timed."""
    arms: Mapping[Name, Mapping[str, Any]] = Field(
        min_length=2, examples=[{"attention": {}, "mixed": {"bottleneck_ratio": 2, "convolution": "span_dynamic"}}]
    )
    """By name, the changes; two arms may be equal, and then show what the clock cannot tell apart."""
    baseline: Name = Field(examples=["attention"])
    """The arm that every other one is compared with."""
    timing: Timing
    """What is timed, on which inputs and how often."""
    tracking: str | None = None
    """An MLflow tracking URI; the store under the results where none is named."""

    @property
    def may_grow(self) -> bool:
        """No arm is added to what was timed: a ratio compares arms that were timed in one process."""
        return False

    @property
    def impossible_points(self) -> list[JsonValue]:
        """None: arms are listed, and one that cannot be is refused."""
        return []

    @cached_property
    def candidates(self) -> tuple[Arm, ...]:
        """The arms, the baseline first. Raises InvalidOverride where an arm cannot be."""
        first = {self.baseline: self.arms[self.baseline]}
        return tuple(changed_arm(name, self._origin, changes) for name, changes in {**first, **self.arms}.items())

    def architecture_of(self, arm: str) -> Architecture:
        """Return the architecture of a named arm."""
        return next(each.candidate.architecture for each in self.candidates if each.name == arm)

    def identity(self) -> dict[str, JsonValue]:
        """Return everything that changes a measurement or what it is compared with, and nothing else."""
        document = canonical(self)
        for presentation in ("question", "paper", "architecture", "tracking"):
            document.pop(presentation, None)
        document["arms"] = {arm.name: canonical(arm.candidate.architecture) for arm in self.candidates}
        return document

    def violations(self) -> Iterator[Violation]:
        """Yield every rule that the values break together."""
        broken = [violation.under("architecture") for violation in self.architecture.violations()]
        yield from broken
        if not broken:
            yield from self._arm_violations()
        yield from self._name_violations()
        for position, length in enumerate(self.timing.lengths):
            if length in self.timing.lengths[:position]:
                yield Violation(("timing", "lengths", position), f"{length} is listed twice")

    @property
    def _origin(self) -> Candidate:
        """The candidate that changes are applied to: the timed part sees no positions and no recipe."""
        longest = max(self.timing.lengths)
        roomy = self.architecture.model_copy(update={"positions": max(longest, self.architecture.positions)})
        return Candidate(architecture=roomy, recipe=Recipe(sequence_length=longest))

    def _arm_violations(self) -> Iterator[Violation]:
        for name, changes in self.arms.items():
            foreign = [path for path in changes if path.split(".")[0] in ROOTS]
            for path in foreign:
                message = f"{path} changes nothing that is timed; only the architecture is"
                yield Violation(("arms", name, path), message)
            if foreign:
                continue
            try:
                changed_arm(name, self._origin, changes)
            except InvalidOverride as impossible:
                yield from (violation.under("arms", name) for violation in impossible.violations)

    def _name_violations(self) -> Iterator[Violation]:
        named: list[tuple[tuple[str | int, ...], str]] = [(("baseline",), self.baseline)]
        if self.paper is not None:
            for position, ordering in enumerate(self.paper.orderings):
                named += [(("paper", "orderings", position), name) for name in ordering.split(" > ")]
            for position, name in enumerate(self.paper.widening):
                named.append((("paper", "widening", position), name))
        for place, name in named:
            if name not in self.arms:
                yield Violation(place, f"{name!r} is not an arm. Allowed: {', '.join(sorted(self.arms))}")


def part_flops(architecture: Architecture, part: Part, length: int, convention: Convention = MATMUL) -> int:
    """Return the operations of one copy of the part on one sequence of `length` tokens."""
    return convention.flops(_components(architecture, part, length), length)


def part_parameters(architecture: Architecture, part: Part) -> int:
    """Return the values of one copy of the part; the normalisation after attention belongs to the block."""
    return sum(component.all_parameters for component in _components(architecture, part, 1))


def _components(architecture: Architecture, part: Part, length: int) -> list[Component]:
    one = architecture.model_copy(update={"depth": 1}).block_parts(length)
    return [component for component in one if part == "block" or component.role in ATTENTION]

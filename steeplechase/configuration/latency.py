"""A latency experiment: one part of several architectures, timed at several sequence lengths. Data, no torch.

The comparison of ConvBERT's Table 9 (arXiv 2008.02496). FLOPs and parameters of the part are known in closed form.
"""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import Field

from search_space.architecture import Architecture
from search_space.candidate import Candidate
from search_space.cost import MATMUL, Component, Convention, Role
from search_space.overrides import ROOTS, InvalidOverride
from search_space.recipe import Recipe
from search_space.stack import components
from steeplechase.configuration.arm import Arm, changed_arm
from steeplechase.configuration.plugin_folders import Plugins
from steeplechase.configuration.plugins import sources_of
from steeplechase.foundation.errors import Violation, listed_twice
from steeplechase.foundation.recorded import Recorded
from steeplechase.foundation.schema import Count, JsonValue, Name, Schema, Seed, canonical

FASTER = r"^\S+ > \S+$"
Part = Literal["attention", "block"]
ATTENTION = (Role.ATTENTION_MAPS, Role.ATTENTION_SCORES, Role.CONVOLUTION, Role.OUTPUT_MAP)


class SpeedStatement(Schema):
    """A paper's statement on the arms' speed, paraphrased, with its source."""

    source: str
    """The paper, with the table or section."""
    statement: str
    """The paper's statement on speed, paraphrased."""
    orderings: tuple[Annotated[str, Field(pattern=FASTER)], ...] = Field(default=(), examples=[["mixed > attention"]])
    """`a > b`: a needs fewer FLOPs and less time than b, at every length."""
    widening: tuple[Name, ...] = Field(default=(), examples=[["mixed"]])
    """Arms whose speed-up over the baseline is larger at the longest length than at the shortest."""


class Timing(Schema):
    """The timed part, its inputs, the number of rounds and the device."""

    part: Part = "attention"
    """`attention`: the mixed-attention sublayer alone. `block`: with the feed-forward network and normalisations."""
    lengths: tuple[Count, ...] = Field(min_length=1, examples=[[64, 128, 256, 512, 1024]])
    """Tokens per sequence, without padding."""
    batch_sequences: Count = 1
    """Sequences of a batch."""
    rounds: Count = 100
    """Number of rounds; a round runs every arm once, in random order, and gives one paired ratio per arm."""
    warm_up_rounds: Annotated[int, Field(ge=0, le=2**53)] = 5
    """Rounds that are run first and discarded."""
    seed: Seed = 1
    """Seed of the weights, the inputs and the orders."""
    device: Literal["cpu", "cuda"] = "cpu"
    """Device on which the part is timed."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """Precision of matrix products and of the values between them."""


class LatencyExperiment(Recorded):
    """A latency experiment at one scale."""

    experiment: Name = Field(examples=["table9"])
    """The experiment's name: part of its results folder."""
    question: str = Field(min_length=1, max_length=400, examples=["Is the mixed block faster than attention?"])
    """The research question, in one sentence; the report begins with it."""
    paper: SpeedStatement | None = None
    """A paper's statement on the arms' speed."""
    plugins: Plugins = Field(default=(), examples=[["../my_plugin"]])
    """Folders with options of your own, relative to this file; each mirrors the repository's tree."""
    architecture: Architecture = Field(default_factory=Architecture)
    """The architecture that the arms change. Its embeddings are not timed."""
    arms: Mapping[Name, Mapping[str, Any]] = Field(
        min_length=2, examples=[{"attention": {}, "mixed": {"bottleneck_ratio": 2, "convolution": "span_dynamic"}}]
    )
    """By name, the changes; two equal arms show the resolution of the measurement."""
    baseline: Name = Field(examples=["attention"])
    """The arm that every other one is compared with."""
    timing: Timing
    """The timed part, its inputs, the number of rounds and the device."""
    tracking: str | None = None
    """An MLflow tracking URI; by default the store under the results."""

    @property
    def trained(self) -> None:
        """None: it trains no model, so that there are no trials."""

    @property
    def may_grow(self) -> bool:
        """False: a ratio compares arms that were timed in one process."""
        return False

    @property
    def impossible_points(self) -> list[JsonValue]:
        """Empty: an impossible arm of the list is an error."""
        return []

    @cached_property
    def candidates(self) -> tuple[Arm, ...]:
        """The arms, the baseline first. Raises InvalidOverride if an arm is impossible."""
        first = {self.baseline: self.arms[self.baseline]}
        return tuple(changed_arm(name, self._origin, changes) for name, changes in {**first, **self.arms}.items())

    def architecture_of(self, arm: str) -> Architecture:
        """Return the architecture of a named arm."""
        return next(known.candidate.architecture for known in self.candidates if known.name == arm)

    def identity(self) -> dict[str, JsonValue]:
        """Return every field that changes a measurement or its comparison, and no other."""
        document = canonical(self)
        for key in ("question", "paper", "plugins", "architecture", "tracking"):
            document.pop(key, None)
        document["arms"] = {arm.name: canonical(arm.candidate.architecture) for arm in self.candidates}
        sources = sources_of(tuple(arm.candidate for arm in self.candidates))
        return {**document, "sources": sources} if sources else document

    def violations(self) -> Iterator[Violation]:
        """Yield the violations of rules between the fields."""
        of_architecture = [violation.under("architecture") for violation in self.architecture.violations()]
        yield from of_architecture
        if not of_architecture:
            yield from self._arm_violations()
        yield from self._name_violations()
        yield from listed_twice(self.timing.lengths, "timing", "lengths")

    @property
    def _origin(self) -> Candidate:
        """The candidate that changes are applied to, with enough positions: the timed part has no embeddings."""
        longest = max(self.timing.lengths)
        architecture = self.architecture.model_copy(update={"positions": max(longest, self.architecture.positions)})
        return Candidate(architecture=architecture, recipe=Recipe(sequence_length=longest))

    def _arm_violations(self) -> Iterator[Violation]:
        for name, changes in self.arms.items():
            outside = [path for path in changes if path.split(".")[0] in ROOTS]
            for path in outside:
                message = f"{path} has no effect: only the architecture is timed"
                yield Violation(("arms", name, path), message)
            if outside:
                continue
            try:
                if changed_arm(name, self._origin, changes).candidate.architecture.is_counted:
                    yield Violation(("arms", name), "kind module has no parts with names, and is not timed")
            except InvalidOverride as impossible:
                yield from (violation.under("arms", name) for violation in impossible.violations)

    def _name_violations(self) -> Iterator[Violation]:
        named: list[tuple[tuple[str | int, ...], str]] = [(("baseline",), self.baseline)]
        if self.paper is not None:
            for position, ordering in enumerate(self.paper.orderings):
                named += [(("paper", "orderings", position), name) for name in ordering.split(" > ")]
            for position, name in enumerate(self.paper.widening):
                named.append((("paper", "widening", position), name))
        for location, name in named:
            if name not in self.arms:
                yield Violation(location, f"{name!r} is not an arm. Allowed: {', '.join(sorted(self.arms))}")


def part_flops(architecture: Architecture, part: Part, length: int, convention: Convention = MATMUL) -> int:
    """Return the FLOPs of one copy of the part on one sequence of `length` tokens."""
    return convention.flops(_components(architecture, part, length), length)


def part_parameters(architecture: Architecture, part: Part) -> int:
    """Return the parameters of one copy of the part; the normalisation after attention belongs to the block."""
    return sum(component.all_parameters for component in _components(architecture, part, 1))


def _components(architecture: Architecture, part: Part, length: int) -> list[Component]:
    block = components(architecture.blocks[:1], "none", length)
    return [component for component in block if part == "block" or component.role in ATTENTION]

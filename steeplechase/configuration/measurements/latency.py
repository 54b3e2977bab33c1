"""`measure.latency`, one part of every arm's architecture timed at several sequence lengths. Data, no torch.

The comparison of ConvBERT's Table 9 (arXiv 2008.02496). FLOPs and parameters of the part are known in closed form.
"""

import json
from collections.abc import Iterator, Mapping
from statistics import median
from typing import Annotated, ClassVar, Literal

from pydantic import Field, FiniteFloat

from search_space.architecture import Architecture
from search_space.candidate import Candidate
from search_space.cost import MATMUL, Component, Convention, Role
from search_space.encoder_decoder_architecture import EncoderDecoderArchitecture
from search_space.stack import components
from steeplechase.configuration.arm import BASELINE
from steeplechase.configuration.measurements.measurement import Measurement
from steeplechase.configuration.stage_result import Result
from steeplechase.foundation.devices import Device
from steeplechase.foundation.errors import Violation, listed_twice
from steeplechase.foundation.schema import Count, JsonValue, Name, OfForm, Seed

Ordering = Annotated[str, OfForm(r"^\S+ > \S+$", "mixed > baseline")]
Part = Literal["attention", "block"]
ATTENTION = (Role.ATTENTION_MAPS, Role.ATTENTION_SCORES, Role.CONVOLUTION, Role.OUTPUT_MAP)


class Latency(Measurement):
    """The timed part, its inputs, the number of rounds and the device, with a paper's statements on speed.

    All arms are timed in one process, untrained: a ratio is paired by round.
    """

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
    device: Device = "cpu"
    """Device on which the part is timed."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """Precision of matrix products and of the values between them."""
    baseline: Name = BASELINE
    """The baseline's name among the timed arms."""
    control: Name | None = Field(default=None, examples=["control"])
    """Name of a second copy of the baseline, timed as an arm: its difference from the baseline is noise."""
    faster: tuple[Ordering, ...] = Field(default=(), examples=[["mixed > baseline"]])
    """The paper's orderings, `a > b`: a needs fewer FLOPs and less time than b, at every length."""
    widening: tuple[Name, ...] = Field(default=(), examples=[["mixed"]])
    """Arms whose speed-up over the baseline is larger at the longest length than at the shortest."""
    key: ClassVar[str] = "latency"
    brief: ClassVar[str] = (
        "Seconds of one part of every arm's architecture at several sequence lengths; null to skip it."
    )
    example: ClassVar[Mapping[str, JsonValue]] = {"lengths": [64, 128, 256]}
    stage: ClassVar[str] = "latency"
    of_pretraining: ClassVar[bool] = False
    of_trials: ClassVar[bool] = False
    presentation: ClassVar[tuple[str, ...]] = ("faster", "widening")

    def timed(self, arms: Mapping[str, Candidate]) -> dict[str, Architecture]:
        """Return what is timed by name, the baseline first, with positions for every length.

        `arms` are those of the experiment, the baseline first. The timed part has no embeddings.
        """
        longest = max(self.lengths)
        names = {name: self.baseline if name == BASELINE else name for name in arms}
        found = {names[name]: candidate.architecture for name, candidate in arms.items()}
        if self.control is not None:
            baseline = found.pop(self.baseline)
            found = {self.baseline: baseline, self.control: baseline, **found}
        return {
            name: each.model_copy(update={"positions": max(longest, each.positions)}) for name, each in found.items()
        }

    def violations(self, length: int, arms: Mapping[str, Candidate]) -> Iterator[Violation]:
        """Yield the arms that cannot be timed, names of no timed arm and of two, and repeated lengths."""
        yield from listed_twice(self.lengths, "lengths")
        if not arms:
            return
        for key, name in (("baseline", self.baseline), ("control", self.control)):
            taken = {*arms, self.baseline} if key == "control" else {*arms} - {BASELINE}
            if name in taken:
                yield Violation((key,), f"{name} is the name of another arm")
        for name, candidate in arms.items():
            if candidate.architecture.is_counted or isinstance(candidate.architecture, EncoderDecoderArchitecture):
                yield Violation((), f"{name} is no encoder of named blocks, whose part could be timed")
        known = sorted({self.baseline, *filter(None, [self.control]), *(name for name in arms if name != BASELINE)})
        for location, name in self._names():
            if name not in known:
                yield Violation(location, f"{name!r} is not an arm. Allowed: {', '.join(known)}")

    def _names(self) -> Iterator[tuple[tuple[str | int, ...], str]]:
        for position, ordering in enumerate(self.faster):
            yield from ((("faster", position), name) for name in ordering.split(" > "))
        for position, name in enumerate(self.widening):
            yield ("widening", position), name

    @classmethod
    def of_former(cls, document: JsonValue) -> JsonValue:
        """Return the record of a former latency experiment as an experiment that only measures latencies.

        Any other document is returned as it is, and so is one whose baseline had changes or that had two controls.
        """
        if not isinstance(document, dict) or "timing" not in document:
            return document
        former: dict[str, JsonValue] = json.loads(json.dumps(document))
        arms, timing, paper = former.pop("arms"), former.pop("timing"), former.pop("paper", None)
        baseline, architecture = former.pop("baseline"), former.pop("architecture")
        assert isinstance(arms, dict)
        assert isinstance(timing, dict)
        controls = [name for name, changes in arms.items() if not changes and name != baseline]
        if arms[str(baseline)] or len(controls) > 1:
            return document
        latency = {**timing, "baseline": baseline, "control": controls[0] if controls else None}
        if isinstance(paper, dict):
            latency |= {"faster": paper.pop("orderings", []), "widening": paper.pop("widening", [])}
        changed: dict[str, JsonValue] = {name: changes for name, changes in arms.items() if changes}
        return {
            **former,
            "paper": paper,
            "baseline": {"architecture": architecture},
            "design": {"kind": "list", "arms": changed},
            "measure": {"latency": latency},
        }


class Machine(Result):
    """What seconds depend on besides the declaration; seconds of two machines are never compared."""

    processor: str
    system: str
    instructions: str
    """The widest vector instructions that torch uses here."""
    device: str
    threads: Count
    clock: str
    python: str
    torch: str
    operators: str
    """What computes the windows of the convolutions: compiled operators, or torch."""
    code: str
    """sha256 of the source of `models`: what was timed."""


class LatencyResult(Result):
    """One sequence length, timed whole: for every arm the seconds of one pass in each round, in the rounds' order."""

    finished: ClassVar[tuple[str, ...]] = ("latency",)
    length: Count
    arms: tuple[Name, ...]
    """In the experiment's order, the baseline first: text in a ledger keeps no order of keys."""
    seconds: Mapping[Name, tuple[Annotated[FiniteFloat, Field(gt=0)], ...]]
    machine: Machine

    @property
    def outcome(self) -> str:
        """The median of every arm in milliseconds."""
        return ", ".join(f"{arm} {1e3 * median(self.seconds[arm]):.3g} ms" for arm in self.arms)


def part_flops(architecture: Architecture, part: Part, length: int, convention: Convention = MATMUL) -> int:
    """Return the FLOPs of one copy of the part on one sequence of `length` tokens."""
    return convention.flops(_components(architecture, part, length), length)


def part_parameters(architecture: Architecture, part: Part) -> int:
    """Return the parameters of one copy of the part; the normalisation after attention belongs to the block."""
    return sum(component.all_parameters for component in _components(architecture, part, 1))


def _components(architecture: Architecture, part: Part, length: int) -> list[Component]:
    block = components(architecture.blocks[:1], "none", architecture.normalisation, length)
    return [component for component in block if part == "block" or component.role in ATTENTION]

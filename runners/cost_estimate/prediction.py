"""Predicts the duration and disk usage of stages from earlier measurements on this machine.

A stage is predicted from the measured stages of its kind that are nearest in size. It takes a start-up and its FLOPs
at a pace, and a measurement does not say how much of it is which: the bounds of a prediction are those of a stage
that is all start-up and of one that is all pace. Two measured sizes tell them apart.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import isclose, log
from pathlib import Path
from shutil import disk_usage
from statistics import median, quantiles

from runners.cost_estimate.flops import stage_flops
from runners.cost_estimate.past_runs import Measured
from runners.stages.attention import AttentionStage
from runners.stages.fine_tune import FineTuneStage
from runners.stages.linear_probe import LinearProbeStage
from runners.stages.minimal_pairs import MinimalPairsStage
from runners.stages.pretrain import PretrainStage
from runners.stages.stage import Stage
from search_space.architecture import Architecture
from steeplechase.foundation.atomic_files import existing

NEAREST = 30
FEWEST_FOR_RANGE = 5
DISTINCT = 2.0
"""Ratio of two sizes from which the difference of their seconds tells start-up from pace."""
WIDE = 3.0
"""Ratio of the bounds from which the middle says little."""

ON_ENCODER = FineTuneStage | LinearProbeStage | AttentionStage
"""What reads a pretrained encoder without its head."""


@dataclass(frozen=True)
class Range:
    """A predicted amount; low and high enclose 80% of the measurements, None if there are too few of one size."""

    middle: float
    low: float | None
    high: float | None

    @property
    def is_wide(self) -> bool:
        """Whether the bounds are so far apart that they alone are to be shown."""
        return self.low is not None and self.high is not None and self.high > WIDE * self.low


@dataclass(frozen=True)
class Prediction:
    """Predicted costs of stages. Kinds without measurements are listed and excluded from the sums."""

    seconds: Range | None
    """Sequential duration, to be divided by the workers. None without measurements."""
    bytes: Range | None
    measured: int
    """Number of measured stages used."""
    never_measured: tuple[str, ...]
    start_seconds: float | None = None
    """Warm-up of each worker before its first stage, not part of `seconds`; None if unknown."""
    unscaled: tuple[str, ...] = ()
    """Kinds without FLOPs, such as the corpus: predicted to take as long as the measured ones, of any size."""


def disk_shortage(prediction: Prediction | None, folder: Path) -> Iterator[str]:
    """Yield the warning that a folder has less free space than is predicted; nothing where either is unknown."""
    needed = None if prediction is None or prediction.bytes is None else prediction.bytes.middle
    free = disk_usage(existing(folder)).free
    if needed is not None and needed > free:
        yield f"{folder}: about {needed / 1e6:,.1f} MB are needed, and {free / 1e6:,.1f} MB are free"


def predicted(stages: Iterable[Stage], measurements: Iterable[Measured]) -> Prediction:
    """Return the predicted costs of the stages to compute."""
    by_group: dict[tuple[str, str], list[Measured]] = {}  # by kind and device
    for each in measurements:
        by_group.setdefault((each.kind, each.device), []).append(each)
    by_group = {group: without_warm_up(members) for group, members in by_group.items()}
    seconds: list[Range] = []
    weights: list[Range] = []
    missing: set[str] = set()
    used: set[tuple[str, str]] = set()
    unscaled: set[str] = set()
    costs: dict[tuple[str, str, float, int], tuple[Range, Range | None]] = {}
    parameters_of = cache(_parameters)  # thousands of stages have few architectures
    for stage in stages:
        device, architecture = _encoder_of(stage)
        group = (stage.kind, device)
        if group not in by_group:
            missing.add(stage.kind)
            continue
        used.add(group)
        size = (*group, stage_flops(stage), parameters_of(architecture))
        unscaled |= set() if size[2] else {stage.kind}
        if size not in costs:
            costs[size] = _cost(by_group[group], *size[2:])
        time, weight = costs[size]
        seconds.append(time)
        weights += [weight] if weight is not None else []
    count = sum(len(by_group[group]) for group in used)
    starts = [each.warm_up_seconds for group in used for each in by_group[group] if each.warm_up_seconds is not None]
    start = median(starts) if starts else None
    return Prediction(_total(seconds), _total(weights), count, tuple(sorted(missing)), start, tuple(sorted(unscaled)))


def without_warm_up(measurements: Sequence[Measured]) -> list[Measured]:
    """Return the measurements known to exclude warm-up, or all if there are none."""
    return [each for each in measurements if each.warm_up_seconds is not None] or [*measurements]


def _cost(measurements: list[Measured], operations: float, parameters: int) -> tuple[Range, Range | None]:
    """Return the seconds and bytes of a stage, from the measurements nearest in size."""
    by_distance = sorted(measurements, key=lambda each: _distance(each.operations, operations))
    size = by_distance[0].operations
    nearest = [each for each in by_distance if _distance(each.operations, size) < log(DISTINCT)][:NEAREST]
    sizes = [(float(each.bytes), float(each.parameters)) for each in nearest if each.bytes is not None]
    time = _bounded([(each.seconds, each.operations) for each in nearest], operations)
    line = _on_line([(each.seconds, each.operations) for each in by_distance], operations)
    if line is not None and time.low is not None and time.high is not None:
        time = replace(time, middle=min(max(line, time.low), time.high))
    return time, _scaled(sizes, float(parameters)) if sizes else None


def _bounded(pairs: list[tuple[float, float]], size: float) -> Range:
    """Return seconds at a size between those of pure start-up, unscaled, and of pure pace, scaled."""
    scaled = _scaled(pairs, size)
    if scaled.low is None and all(isclose(size, of) or not (size and of) for _, of in pairs):
        return scaled
    ends = [(seconds, seconds * size / of if size and of else seconds) for seconds, of in pairs]
    low, high = sorted(map(min, ends)), sorted(map(max, ends))
    if len(pairs) < FEWEST_FOR_RANGE:
        return Range(scaled.middle, low[0], high[-1])
    return Range(scaled.middle, _deciles(low)[0], _deciles(high)[-1])


def _on_line(pairs: list[tuple[float, float]], size: float) -> float | None:
    """Return the seconds on the line through the two nearest measured sizes; None if all sizes are alike."""
    if not size or not pairs[0][1]:
        return None
    near = pairs[0][1]
    far = next((of for _, of in pairs if of and _distance(of, near) >= log(DISTINCT)), None)
    if far is None:
        return None
    first, second = (median(seconds for seconds, of in pairs if isclose(of, at)) for at in (near, far))
    return first + (second - first) / (far - near) * (size - near)


def _scaled(pairs: list[tuple[float, float]], size: float) -> Range:
    """Return amounts scaled to a size; unscaled without a size."""
    amounts = [amount * size / of if size and of else amount for amount, of in pairs]
    if len(amounts) < FEWEST_FOR_RANGE:
        return Range(median(amounts), None, None)
    deciles = _deciles(amounts)
    return Range(median(amounts), deciles[0], deciles[-1])


def _deciles(amounts: list[float]) -> list[float]:
    return quantiles(amounts, n=10, method="inclusive")


def _total(parts: list[Range]) -> Range | None:
    """Return the sum; the bounds are summed too, since the speed of the machine affects all stages alike."""
    if not parts:
        return None
    middle = sum(part.middle for part in parts)
    if all(part.low is None for part in parts):
        return Range(middle, None, None)
    low = sum(part.middle if part.low is None else part.low for part in parts)
    return Range(middle, low, sum(part.middle if part.high is None else part.high for part in parts))


def _distance(size: float, other_size: float) -> float:
    return abs(log(max(size, 1.0)) - log(max(other_size, 1.0)))


def _encoder_of(stage: Stage) -> tuple[str, Architecture | None]:
    """Return the device of a stage and the architecture of its encoder, None without one."""
    declaration = stage.declaration
    if isinstance(declaration, PretrainStage | MinimalPairsStage):
        return declaration.candidate.recipe.device, declaration.candidate.architecture
    if isinstance(declaration, ON_ENCODER):
        return declaration.device, declaration.architecture
    return "cpu", None


def _parameters(architecture: Architecture | None) -> int:
    return 0 if architecture is None else architecture.parameters

"""Recorded learning curves of many candidates; smaller is better, diverged values are infinite."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from steeplechase.foundation.canonical import canonical_text
from steeplechase.foundation.errors import LINES_SHOWN, first_lines
from steeplechase.foundation.schema import JsonValue

Numbers = NDArray[np.float64]


class Unreadable(ValueError):
    """Curves that cannot be read: a message for the user per mistake, which starts with its line, if any."""

    def __init__(self, messages: str | Sequence[str]) -> None:
        self.messages = (messages,) if isinstance(messages, str) else tuple(messages)
        super().__init__("\n".join(self.messages))


class Mistakes:
    """Collects the mistakes of a file's lines or entries, so that all are reported at once.

    The first messages alone are kept, whatever the file's length.
    """

    def __init__(self) -> None:
        self._messages, self._count = list[str](), 0

    @contextmanager
    def of_one(self) -> Iterator[None]:
        """Collect the mistakes of one line or entry in place of raising them."""
        try:
            yield
        except Unreadable as mistake:
            self._messages.extend(mistake.messages[: LINES_SHOWN - len(self._messages)])
            self._count += len(mistake.messages)

    def refuse(self) -> None:
        """Raise Unreadable with the first mistakes and the number of the others, if there are any."""
        if self._messages:
            total = self._count
            rest = first_lines(self._messages, lambda more: f"{more} more mistakes, {total} in total", count=total)
            raise Unreadable(rest)


@dataclass(frozen=True)
class RecordedCurves:
    """One task: values of every candidate at every recorded step."""

    name: str
    candidates: tuple[str, ...]
    configs: tuple[Mapping[str, JsonValue], ...]
    steps: tuple[float, ...]
    values: Numbers
    """[candidates, points], smaller is better; infinite from the divergence of a candidate on."""
    left_out: int = 0
    """Number of candidates of the file that were not trained to the last step."""
    about: Mapping[str, JsonValue] = field(default_factory=dict)
    """What the first line of the plain format says beside the direction."""

    @cached_property
    def costs(self) -> Numbers:
        """Cost of training from nothing to each point, in full trainings [points]; the last is 1.

        A step's share of all steps. If the first recorded step is 0, it costs one interval too: with 51 points each
        costs 1/51.
        """
        steps = np.asarray(self.steps, dtype=np.float64)
        shift = steps[1] - steps[0] if len(steps) > 1 and steps[0] <= 0 else 0.0
        shifted = steps - min(steps[0], 0.0) + shift
        return np.asarray(shifted / shifted[-1] if shifted[-1] > 0 else np.ones(1))

    @cached_property
    def optimum(self) -> float:
        """The best value of any candidate at any step."""
        return float(self.values.min())

    @cached_property
    def median_final(self) -> float:
        """The median of the final values of the candidates that did not diverge."""
        final = self.values[:, -1]
        return float(np.median(final[np.isfinite(final)]))

    @cached_property
    def in_order(self) -> tuple[int, ...]:
        """Indices of the candidates sorted by configuration and name, independent of their order in the file."""
        named = zip(self.configs, self.candidates, strict=True)
        keys = [(canonical_text(dict(config)), name) for config, name in named]
        return tuple(sorted(range(len(keys)), key=keys.__getitem__))


def recorded(
    name: str,
    configs: Mapping[str, Mapping[str, JsonValue]],
    points: Mapping[str, Mapping[float, float]],
    maximise: bool,
) -> RecordedCurves:
    """Return curves from points {candidate: {step: value}}, at the common steps of the complete candidates.

    Candidates without a value at the last step are left out and counted. Raises Unreadable if fewer than two remain.
    """
    last = max((step for curve in points.values() for step in curve), default=0.0)
    complete = [candidate for candidate, curve in points.items() if last in curve]
    if len(complete) < 2:
        raise Unreadable(f"{len(complete)} candidates reach the last step {last:g}; at least 2 are needed")
    first, *others = (points[candidate] for candidate in complete)
    steps = sorted(set(first).intersection(*others))
    table = np.array([[points[candidate][step] for step in steps] for candidate in complete], dtype=np.float64)
    curves = from_table(
        name, complete, [configs[candidate] for candidate in complete], steps, -table if maximise else table
    )
    return replace(curves, left_out=len(points) - len(complete))


def from_table(
    name: str,
    candidates: Sequence[str],
    configs: Sequence[Mapping[str, JsonValue]],
    steps: Sequence[float],
    values: Numbers,
) -> RecordedCurves:
    """Return curves from values [candidates, points], smaller is better; values after NaN or infinity are infinite.

    Raises Unreadable unless two final values are finite and different, and all numbers of configurations finite.
    """
    named = zip(candidates, configs, strict=True)
    wrong = [
        f"candidate {name}: its configuration holds a number that is not finite"
        for name, config in named
        if not _is_finite(config)
    ]
    if wrong:
        raise Unreadable(first_lines(wrong, lambda more: f"{more} more such candidates"))
    broken = np.logical_or.accumulate(~np.isfinite(values), axis=1)
    curves = RecordedCurves(name, tuple(candidates), tuple(configs), tuple(steps), np.where(broken, np.inf, values))
    final = curves.values[:, -1]
    if len(np.unique(final[np.isfinite(final)])) < 2:
        raise Unreadable("fewer than two different finite final values: there is nothing to search for")
    return curves


def _is_finite(config: Mapping[str, JsonValue]) -> bool:
    """Return whether JSON can hold every number of a configuration."""
    try:
        canonical_text(dict(config))
    except ValueError:
        return False
    return True

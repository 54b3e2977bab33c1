"""Pairs: every combination of values of two factors, all other factors as in the baseline."""

from collections.abc import Iterator
from itertools import combinations
from typing import ClassVar, Literal

from configuration.designs.axes import SeveralAxes, axis_violations, equals_baseline, named_in_full, present
from configuration.designs.point import Point, PointDesign, level
from foundation.errors import Violation
from search_space.candidate import Candidate
from search_space.overrides import InvalidOverride, apply


class Pairs(PointDesign):
    """`vary: { heads: [2, 8], depth: [6], width: [128] }` is 2 + 2 + 1 points.

    A value that equals the baseline's gives no pair. An interaction also needs the arms with each value alone:
    concatenate the design with `one_factor` over the same axes.
    """

    listed: ClassVar[bool] = False
    may_equal_baseline: ClassVar[bool] = True
    kind: Literal["pairs"] = "pairs"
    """Chooses every combination of two changed factors."""
    vary: SeveralAxes
    """By path, the values other than the baseline's."""

    def size(self, baseline: Candidate) -> int:
        """Return the number of pairs of values, including values that equal the baseline's."""
        counts = [len(values) for values in self.vary.values()]
        return (sum(counts) ** 2 - sum(count * count for count in counts)) // 2

    def points(self, baseline: Candidate) -> Iterator[Point]:
        """Yield the pairs by first factor, then by second; an option and a field of it are a pair too."""
        for first, second in combinations(self.vary, 2):
            for first_value in self.vary[first]:
                for second_value in self.vary[second]:
                    changes = {first: first_value, second: second_value}
                    if self._both_change(baseline, changes):
                        levels = {path: level(value) for path, value in changes.items()}
                        yield Point(named_in_full(changes, self.vary, baseline), changes, ("vary",), levels)

    def own_violations(self, baseline: Candidate) -> Iterator[Violation]:
        """Yield axes without values, with duplicate values or with values that are impossible at every point."""
        yield from axis_violations(self.vary, baseline)

    def _both_change(self, baseline: Candidate, changes: dict[str, object]) -> bool:
        for path, value in changes.items():
            option = {other: chosen for other, chosen in changes.items() if path.startswith(f"{other}.")}
            if option and not present(path, option, baseline):
                return False  # the option has no such field, so that only the option changes
            if equals_baseline(_with(baseline, option), {path: value}):
                return False
        return True


def _with(baseline: Candidate, changes: dict[str, object]) -> Candidate:
    try:
        return apply(baseline, changes)
    except InvalidOverride:
        return baseline  # reported when the point is made

"""Pairs: every combination of two factors' values beside the baseline, all other factors as in the baseline."""

from collections.abc import Iterator
from itertools import combinations
from typing import ClassVar, Literal

from configuration.designs.axes import SeveralAxes, axis_violations, named_in_full, present, same_as
from configuration.designs.point import Point, PointDesign, level
from foundation.errors import Violation
from search_space.candidate import Candidate
from search_space.overrides import InvalidOverride, apply


class Pairs(PointDesign):
    """`vary: { heads: [2, 8], depth: [6], width: [128] }` is 2 + 2 + 1 points.

    A value that is the baseline's own makes no pair. An interaction also needs each value alone: concatenate the
    design with `one_factor` over the same axes.
    """

    listed: ClassVar[bool] = False
    recurs: ClassVar[bool] = True
    kind: Literal["pairs"] = "pairs"
    """Chooses every combination of two moved factors."""
    vary: SeveralAxes
    """By path, the values beside the baseline's."""

    def size(self, baseline: Candidate) -> int:
        """Return the number of pairs of values, the baseline's own included."""
        counts = [len(values) for values in self.vary.values()]
        return (sum(counts) ** 2 - sum(count * count for count in counts)) // 2

    def points(self, baseline: Candidate) -> Iterator[Point]:
        """Yield the pairs by their first factor, then by their second; an axis and its own option's field too."""
        for first, second in combinations(self.vary, 2):
            for one in self.vary[first]:
                for other in self.vary[second]:
                    changes = {first: one, second: other}
                    if self._both_move(baseline, changes):
                        levels = {path: level(value) for path, value in changes.items()}
                        yield Point(named_in_full(changes, self.vary, baseline), changes, ("vary",), levels)

    def own_violations(self, baseline: Candidate) -> Iterator[Violation]:
        """Yield axes without values, with repeated ones or with values that no point can take."""
        yield from axis_violations(self.vary, baseline)

    def _both_move(self, baseline: Candidate, changes: dict[str, object]) -> bool:
        for path, value in changes.items():
            option = {other: chosen for other, chosen in changes.items() if path.startswith(f"{other}.")}
            if option and not present(path, option, baseline):
                return False  # the option has no such field: this is the option alone
            if same_as(_with(baseline, option), {path: value}):
                return False
        return True


def _with(baseline: Candidate, changes: dict[str, object]) -> Candidate:
    try:
        return apply(baseline, changes)
    except InvalidOverride:
        return baseline  # told when the point is made

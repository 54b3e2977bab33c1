"""One factor at a time: every listed value of every axis, all else as in the baseline."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from pydantic import Field

from runners.designs.arm import Arm, baseline_arm, changed_arm, violations_of
from search_space.candidate import Candidate
from search_space.change import ImpossibleChange
from search_space.declaration import Declaration
from search_space.violation import Violation


class OneFactor(Declaration):
    """The axes that may leave the baseline, each with the values it takes."""

    kind: Literal["one_factor"] = "one_factor"
    vary: Mapping[str, tuple[Any, ...]] = Field(min_length=1, examples=[{"convolution.kernel_size": [3, 9]}])

    def candidates(self, baseline: Candidate) -> tuple[Arm, ...]:
        """Return the baseline, then one arm per value that differs from it."""
        arms = [changed_arm(name, baseline, changes) for name, _, changes in self._points()]
        return (baseline_arm(baseline), *(arm for arm in arms if arm.changes))

    def violations(self, baseline: Candidate) -> Iterator[Violation]:
        """Yield empty axes, impossible values, repeats, and axes on which nothing varies."""
        for path, values in self.vary.items():
            if not values:
                yield Violation(("vary", path), "no values to vary over; list at least one")
        points = (point for point in self._points() if not _idle(baseline, point[2]))
        for violation in violations_of(baseline, points):
            yield Violation(violation.path[:3], violation.message)  # the value's own place says it all

    def _points(self) -> Iterator[tuple[str, tuple[str | int, ...], Mapping[str, Any]]]:
        for path, values in self.vary.items():
            for position, value in enumerate(values):
                yield f"{path.rsplit('.', 1)[-1]}={_label(value)}", ("vary", path, position), {path: value}


def _label(value: Any) -> str:
    if not isinstance(value, Mapping) or "kind" not in value:
        return str(value)
    fields = ", ".join(f"{name}={inner}" for name, inner in value.items() if name != "kind")
    return f"{value['kind']}({fields})" if fields else str(value["kind"])


def _idle(baseline: Candidate, changes: Mapping[str, Any]) -> bool:
    try:
        return not changed_arm("", baseline, changes).changes
    except ImpossibleChange:
        return False

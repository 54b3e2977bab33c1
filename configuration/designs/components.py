"""Components: named groups of changes that a model has or lacks, as the designs about them need them."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import Field

from configuration.designs.list import ArmName
from configuration.designs.point import Changes, PointDesign
from foundation.errors import Violation
from search_space.candidate import Candidate

Components = Annotated[
    Mapping[ArmName, Mapping[str, Any]],
    Field(min_length=1, examples=[{"bottleneck": {"bottleneck_ratio": 2}, "groups": {"feed_forward_groups": 2}}]),
]


class ComponentDesign(PointDesign):
    """The parts in their order, each with the changes that put it into the baseline."""

    components: Components
    """By name, the changes that put a component into the baseline, in their order."""

    def together(self, names: tuple[str, ...]) -> Changes:
        """Return the changes that put the named components in, a later one's over an earlier one's."""
        return {
            path: value for name in self.components if name in names for path, value in self.components[name].items()
        }

    def present_or_not(self, names: tuple[str, ...]) -> dict[str, Any]:
        """Return for every component whether it is among the names."""
        return {name: name in names for name in self.components}


def contested(components: Components) -> Iterator[Violation]:
    """Yield the paths that two components set: without either, what is left would not be the other alone."""
    owners: dict[str, str] = {}
    for name, changes in components.items():
        for path in changes:
            owner = owners.setdefault(path, name)
            if owner != name:
                message = f"{path} is set by {owner} already; what is left without one of them would be unclear"
                yield Violation(("components", name, path), message)


def fewer_than_two(components: Components) -> Iterator[Violation]:
    """Yield that leaving one out, or keeping one, says something only of two and more."""
    if len(components) < 2:
        yield Violation(("components",), "1 component; at least 2 are needed")


def always_idle(components: Components, baseline: Candidate) -> Iterator[Violation]:
    """Yield the components without a change."""
    for name, changes in components.items():
        if not changes:
            yield Violation(("components", name), f"{name} changes nothing")

"""Components: named groups of changes that are present in an arm or not; common base of the component designs."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import Field

from search_space.candidate import Candidate
from steeplechase.configuration.designs.list import ArmName
from steeplechase.configuration.designs.point import Changes, PointDesign
from steeplechase.foundation.errors import Violation

Components = Annotated[
    Mapping[ArmName, Mapping[str, Any]],
    Field(min_length=1, examples=[{"bottleneck": {"bottleneck_ratio": 2}, "groups": {"feed_forward_groups": 2}}]),
]


class ComponentDesign(PointDesign):
    """A design over components, each with the changes that add it to the baseline."""

    components: Components
    """By name, in order: the changes that add a component to the baseline."""

    def together(self, names: tuple[str, ...]) -> Changes:
        """Return the changes that add the named components; later components override earlier ones."""
        return {
            path: value for name in self.components if name in names for path, value in self.components[name].items()
        }

    def present_or_not(self, names: tuple[str, ...]) -> dict[str, Any]:
        """Return, by component, whether it is among the names."""
        return {name: name in names for name in self.components}


def set_twice(components: Components) -> Iterator[Violation]:
    """Yield the paths that two components set: leaving one out would then also change the other."""
    owners: dict[str, str] = {}
    for name, changes in components.items():
        for path in changes:
            owner = owners.setdefault(path, name)
            if owner != name:
                message = f"{path} is set by {owner} already; leaving one of them out would be ambiguous"
                yield Violation(("components", name, path), message)


def fewer_than_two(components: Components) -> Iterator[Violation]:
    """Yield a violation unless there are at least two components."""
    if len(components) < 2:
        yield Violation(("components",), "1 component; at least 2 are needed")


def without_changes(components: Components, baseline: Candidate) -> Iterator[Violation]:
    """Yield the components without a change."""
    for name, changes in components.items():
        if not changes:
            yield Violation(("components", name), f"{name} changes nothing")

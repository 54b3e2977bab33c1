"""Arm tables of designs, their violations, and spaces to draw designs from."""

from typing import Any

from hypothesis import strategies as st

from search_space.candidate import Candidate
from steeplechase.configuration.arm import Arm
from steeplechase.configuration.arms import ArmTable, Rules
from steeplechase.configuration.designs import Search
from steeplechase.configuration.designs.point import PointDesign

ELECTRA_SMALL = Candidate()
CHANGES: dict[str, tuple[Any, ...]] = {
    "bottleneck_ratio": (1, 2, 4),
    "heads": (2, 4, 8),
    "feed_forward_groups": (1, 2, 4),
    "convolution": ("none", "dynamic", {"kind": "span_dynamic", "kernel_size": 5}),
    "convolution.kernel_size": (3, 9),
    "recipe.dropout": (0.0, 0.1, 0.2),
    "objective.mask_rate": (0.1, 0.15),
}
CONSTRAINTS = ("bottleneck_ratio <= heads", "not convolution.kernel_size > 5", "parameters < 13.4e6", "heads != 8")


def arm_table_of(*designs: PointDesign, constraints: tuple[str, ...] = (), skip: bool = False) -> ArmTable:
    arm_table = ArmTable(ELECTRA_SMALL, Rules(constraints, skip))
    for design in designs:
        arm_table.add_design(design, ())
    return arm_table


def arms_of(*designs: PointDesign, **rules: Any) -> list[Arm]:
    arm_table = arm_table_of(*designs, **rules)
    assert arm_table.violations == []
    return arm_table.arms


def violation_lines(design: PointDesign | Search) -> list[str]:
    found = design.violations(ELECTRA_SMALL) if isinstance(design, Search) else arm_table_of(design).violations
    return [f"{'.'.join(map(str, one.path))}: {one.message}" for one in found]


@st.composite
def axes(draw: st.DrawFn, fewest: int = 1, values: tuple[int, int] = (1, 3)) -> dict[str, tuple[Any, ...]]:
    """Axes that no point can lack: a field of the convolution only beside convolutions."""
    names = draw(st.lists(st.sampled_from(sorted(CHANGES)), min_size=fewest, max_size=5, unique=True))
    if "convolution.kernel_size" in names and "convolution" not in names:
        names = [name for name in names if name != "convolution.kernel_size"] + ["convolution"]
    chosen = {
        name: tuple(draw(st.lists(st.sampled_from(CHANGES[name]), min_size=low, max_size=high, unique_by=str)))
        for name in names
        for low, high in [(min(values[0], len(CHANGES[name])), min(values[1], len(CHANGES[name])))]
    }
    if "convolution.kernel_size" in chosen and chosen["convolution"] == ("none",):
        chosen["convolution"] = ("none", "dynamic")
    return chosen

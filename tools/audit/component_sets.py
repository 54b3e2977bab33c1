"""Sets of components: which arm has exactly these, and along which orders a design adds them."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, combinations
from typing import Any

import numpy as np

from tools.audit.exports import Arm, Row
from tools.audit.study import Study

Components = frozenset[str]
LARGEST = 8
ARCHITECTURE = "architecture."


def arms_by_components(study: Study, components: Mapping[str, Row]) -> dict[Components, Arm]:
    """Return, for every set of components that is an arm, the arm; components that only differ in part are not it."""
    arms = {}
    for each in map(frozenset, subsets([*components])):
        changes = {
            _short(path): value for name in components if name in each for path, value in components[name].items()
        }
        found = [arm for arm in study.export.arms if _made(arm, changes)]
        arms.update({each: found[0]} if found else {})
    return arms


def subsets(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield every set of the names, by size."""
    return chain.from_iterable(combinations(names, size) for size in range(len(names) + 1))


def _short(path: str) -> str:
    return path.removeprefix(ARCHITECTURE)


def _made(arm: Arm, changes: Row) -> bool:
    own = {_short(path): value for path, value in arm.changes.items()}
    return own.keys() == changes.keys() and all(_equal(own[path], value) for path, value in changes.items())


def _equal(value: Any, declared: Any) -> bool:
    """Whether a recorded change is the declared one: an option may be declared by its kind alone."""
    return bool(value == declared or (isinstance(value, dict) and value == {"kind": declared}))


def with_all_sets(study: Study) -> list[Arm]:
    """Return the arms of the first design of which every set of components is an arm, its components as levels."""
    for design in study.export.designs:
        components = design.get("components", {})
        if 2 <= len(components) <= LARGEST:
            found = arms_by_components(study, components)
            if len({arm.name for arm in found.values()}) == 2 ** len(components):
                return [
                    replace(arm, levels={name: name in each for name in components}) for each, arm in found.items()
                ]
    return []


def orders_of(design: Row) -> list[list[str]]:
    """Return the random orders in which a design adds its components, by its seed."""
    names, wanted = [*design["components"]], int(design["orders"])
    text = f"{design.get('seed', 1)}:orders of components:{len(names)}:{wanted}"
    key = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1
    random = np.random.Generator(np.random.Philox(key=key))
    drawn: set[tuple[int, ...]] = set()
    while len(drawn) < wanted:
        drawn.add(tuple(random.permutation(len(names)).tolist()))
    return [[names[place] for place in order] for order in sorted(drawn)]

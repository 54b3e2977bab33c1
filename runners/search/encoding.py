"""Points of a search space: which axes a candidate has, how a point is drawn, and whether it is one at all."""

from collections.abc import Callable, Mapping
from typing import Any

from numpy.random import Generator

from configuration.designs.search import Search
from foundation.schema import canonical, canonical_text
from search_space.candidate import Candidate
from search_space.constraints import broken_by
from search_space.overrides import InvalidOverride, absolute_path, apply

MUTATIONS = 1000  # of one parent, before it is given up

Choose = Callable[[str, list[str]], str]
"""From an axis and its labels to the label taken."""


def draw(design: Search, baseline: Candidate, choose: Choose) -> dict[str, Any] | None:
    """Draw every axis that the point has, an option's own field only where the chosen option has it.

    None where an option cannot be with the baseline's recipe.
    """
    point: dict[str, Any] = {}
    for path in sorted(design.space, key=lambda path: path.count(".")):
        chosen = _tolerant(baseline, point)
        if chosen is None:
            return None
        if path in point_of(design, chosen):
            known = labels(design, path)
            point[path] = design.space[path][known.index(choose(path, known))]
    return point


def point_of(design: Search, candidate: Candidate) -> dict[str, str]:
    """Return a candidate's value on every axis that it has, as the axis's labels."""
    document: dict[str, Any] = candidate.model_dump()
    point: dict[str, str] = {}
    for path in design.space:
        place: Any = document
        for part in absolute_path(path):
            place = place.get(part) if isinstance(place, dict) else None
        if place is not None:
            point[path] = _label(place)
    return point


def labels(design: Search, path: str) -> list[str]:
    """Return the values of an axis as text."""
    return [_label(value) for value in design.space[path]]


def possible(baseline: Candidate, point: Mapping[str, Any], constraints: tuple[str, ...] = ()) -> str | None:
    """Return the identity of the candidate that a point leads to, None where it breaks a rule or a constraint."""
    try:
        candidate = apply(baseline, point)
    except InvalidOverride:
        return None
    return identity(candidate) if broken_by(candidate, constraints) is None else None


def identity(candidate: Candidate) -> str:
    """Return text that is equal for equal candidates."""
    return canonical_text(canonical(candidate))


def mutant(design: Search, baseline: Candidate, genome: Mapping[str, str], chance: Generator) -> dict[str, Any]:
    """Return changes with every gene redrawn at the mutation rate, empty where no child differs from its parent."""
    for _ in range(MUTATIONS):
        genes: dict[str, str] = {}

        def choose(path: str, known: list[str], genes: dict[str, str] = genes) -> str:
            own = genome.get(path)
            others = [label for label in known if label != own] or known
            kept = own in known and chance.random() >= design.tournament.mutation_rate
            genes[path] = str(own) if kept else others[int(chance.integers(len(others)))]
            return genes[path]

        point = draw(design, baseline, choose)
        if point is not None and genes != genome:
            return point
    return {}


def evenly(chance: Generator) -> Choose:
    """Return a choice of every label with the same chance."""
    return lambda _, known: known[int(chance.integers(len(known)))]


def _tolerant(baseline: Candidate, point: dict[str, Any]) -> Candidate | None:
    """Return the candidate with its options chosen, whatever its sizes: only which axes it has is asked of it."""
    options = {path: value for path, value in point.items() if isinstance(value, Mapping | str)}
    try:
        return apply(baseline, options)
    except InvalidOverride:
        return None


def _label(value: Any) -> str:
    if isinstance(value, str):
        return value
    return str(value["kind"]) if isinstance(value, Mapping) else canonical_text(value)

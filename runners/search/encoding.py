"""Encoding of candidates as points of a search space: the axes of a candidate, sampling, validity, mutation."""

from collections.abc import Callable, Mapping
from typing import Any

from numpy.random import Generator

from configuration.designs.search import Search
from foundation.schema import canonical, canonical_text
from search_space.candidate import Candidate
from search_space.constraints import broken_by
from search_space.overrides import InvalidOverride, absolute_path, apply

MUTATIONS = 1000  # of one parent, before the search for a valid child ends

Choose = Callable[[str, list[str]], str]
"""Returns one of an axis's labels, given the axis and its labels."""


def draw(design: Search, baseline: Candidate, choose: Choose) -> dict[str, Any] | None:
    """Draw a value on every axis of the point; fields of an option only if that option is selected.

    Return None if an option is invalid with the baseline's recipe.
    """
    point: dict[str, Any] = {}
    for path in sorted(design.space, key=lambda path: path.count(".")):
        chosen = _with_options(baseline, point)
        if chosen is None:
            return None
        if path in point_of(design, chosen):
            values = labels(design, path)
            point[path] = design.space[path][values.index(choose(path, values))]
    return point


def point_of(design: Search, candidate: Candidate) -> dict[str, str]:
    """Return a candidate's label on every axis that it has."""
    document: dict[str, Any] = candidate.model_dump()
    point: dict[str, str] = {}
    for path in design.space:
        value: Any = document
        for part in absolute_path(path):
            value = value.get(part) if isinstance(value, dict) else None
        if value is not None:
            point[path] = _label(value)
    return point


def labels(design: Search, path: str) -> list[str]:
    """Return the values of an axis as text."""
    return [_label(value) for value in design.space[path]]


def possible(baseline: Candidate, point: Mapping[str, Any], constraints: tuple[str, ...] = ()) -> str | None:
    """Return the identity of a point's candidate, None if it violates a rule or a constraint."""
    try:
        candidate = apply(baseline, point)
    except InvalidOverride:
        return None
    return identity(candidate) if broken_by(candidate, constraints) is None else None


def identity(candidate: Candidate) -> str:
    """Return a text that is equal for equal candidates only."""
    return canonical_text(canonical(candidate))


def mutant(design: Search, baseline: Candidate, genome: Mapping[str, str], generator: Generator) -> dict[str, Any]:
    """Return a mutated genome as changes: each gene is redrawn at the mutation rate; empty if no child differs."""
    for _ in range(MUTATIONS):
        genes: dict[str, str] = {}

        def choose(path: str, values: list[str], genes: dict[str, str] = genes) -> str:
            parent = genome.get(path)
            alternatives = [label for label in values if label != parent] or values
            unchanged = parent in values and generator.random() >= design.tournament.mutation_rate
            genes[path] = str(parent) if unchanged else alternatives[int(generator.integers(len(alternatives)))]
            return genes[path]

        point = draw(design, baseline, choose)
        if point is not None and genes != genome:
            return point
    return {}


def uniformly(generator: Generator) -> Choose:
    """Return a uniform random choice of labels."""
    return lambda _, values: values[int(generator.integers(len(values)))]


def _with_options(baseline: Candidate, point: dict[str, Any]) -> Candidate | None:
    """Return the candidate with the options of a point and the baseline's sizes, to find the axes that it has."""
    options = {path: value for path, value in point.items() if isinstance(value, Mapping | str)}
    try:
        return apply(baseline, options)
    except InvalidOverride:
        return None


def _label(value: Any) -> str:
    if isinstance(value, str):
        return value
    return str(value["kind"]) if isinstance(value, Mapping) else canonical_text(value)

"""Encoding of candidates as points of a search space: the axes of a candidate, sampling, validity, mutation."""

import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Protocol

from numpy.random import Generator

from search_space.candidate import Candidate
from search_space.constraints import broken_by
from search_space.layer_lists import DEPTHS, list_in
from search_space.overrides import InvalidOverride, absolute_path, applied, apply
from search_space.program_parser import parse_program
from search_space.structure import Choose as GeneChoice
from search_space.structure.option import StackName, program_of
from steeplechase.configuration.arm import Arm
from steeplechase.configuration.designs.axes import equals_baseline
from steeplechase.configuration.designs.search import Search, by_layer
from steeplechase.foundation.canonical import canonical, canonical_text, fingerprint
from steeplechase.foundation.schema import JsonValue, cached_until_options_change

DRAWN_POINTS = 256
"""Points that were drawn last, of which it is known whether they are possible."""
OF_OPTIONS = (Mapping, str, list, tuple)
"""Types of values that may name an option, by which the fields on further axes are known."""
MUTATIONS = 1000  # of one parent, before the search for a valid child ends

ORDERED = ("tpe", "gp", "nsga2")
"""Samplers that learn, and are told the order of numbers; the sequences of the others stay as they were."""

Choose = Callable[[str, list[str]], str]
"""Returns one of an axis's labels, given the axis and its labels."""


class Suggests(Protocol):
    """A trial of a sampler, which suggests values by the name of an axis."""

    def suggest_categorical(self, name: str, choices: Any) -> Any:
        """Return one of the choices, which have no order."""

    def suggest_int(self, name: str, low: int, high: int) -> int:
        """Return a whole number between both, which are included."""


def draw(design: Search, baseline: Candidate, choose: Choose) -> dict[str, Any] | None:
    """Draw a value on every axis of the point; fields of an option only if that option is selected.

    Return None if the options are of a wrong type together; rules that other axes may keep are not asked.
    """
    point: dict[str, Any] = {}
    paths = tuple(sorted(design.space, key=lambda path: path.count(".")))
    axes, outdated = _axes_of(baseline, paths), False
    for path in paths:
        if outdated:
            options: dict[str, Any] = {each: point[each] for each in point if isinstance(point[each], OF_OPTIONS)}
            chosen = _axes_with(baseline, canonical_text(options), paths)
            if chosen is None:
                return None
            axes, outdated = chosen, False
        if path in axes:
            values = labels(design, path, baseline)
            point[path] = design.space[path][values.index(choose(path, values))]
            outdated = isinstance(point[path], OF_OPTIONS)
    for stack, structure in design.structure.items():
        point[stack] = str(structure.program(baseline.architecture, stack, _genes_of(stack, choose)))
    return point


def _genes_of(stack: str, choose: Choose) -> GeneChoice:
    """Return a choice of genes, each an axis of its own."""
    return lambda gene, values: choose(f"{stack}/{gene}", [*values])


def point_of(design: Search, candidate: Candidate) -> dict[str, str]:
    """Return a candidate's label on every axis that it has, the genes of its structures included."""
    document: dict[str, Any] = candidate.model_dump()
    point: dict[str, str] = {}
    for path in design.space:
        value: Any = document
        for part in absolute_path(path):
            value = value.get(part) if isinstance(value, dict) else None
        if by_layer(design, path):
            value = list_in(document["architecture"].get("layers"), path) or value
        if absolute_path(path)[-1] in DEPTHS and _has(document, path):
            value = _program_on_axis(design, path, candidate)
        if value is not None or (None in design.space[path] and _has(document, path)):
            point[path] = _label_on_axis(design, path, candidate, value)
    for stack, structure in design.structure.items():
        genome = structure.genome(candidate.architecture, stack) or {}
        point |= {f"{stack}/{gene}": value for gene, value in genome.items()}
    return point


def _label_on_axis(design: Search, path: str, candidate: Candidate, value: Any) -> str:
    """Return the label of a candidate's value; an axis may write it otherwise, as 0 for 0.0 or "3/2" for 1.5."""
    values, label = design.space[path], _label(value)
    if label in map(_label, values):
        return label
    return next((_label(each) for each in values if equals_baseline(candidate, {path: each})), label)


def _program_on_axis(design: Search, path: str, candidate: Candidate) -> str:
    """Return a candidate's program as the axis writes it: the same program has several texts, or the depth alone."""
    stack: StackName = "layers" if absolute_path(path)[-1] == "layers" else "decoder_layers"
    program = program_of(candidate.architecture, stack)
    texts = (text for text in design.space[path] if isinstance(text, str))
    return next((text for text in texts if parse_program(text) == program), str(program))


def _has(document: Any, path: str) -> bool:
    """Return whether a candidate has an axis; a field at None has the experiment's value."""
    *parents, leaf = absolute_path(path)
    for part in parents:
        document = document.get(part) if isinstance(document, dict) else None
    return isinstance(document, dict) and leaf in document


def labels(design: Search, path: str, baseline: Candidate) -> list[str]:
    """Return the values of an axis or of a gene as text."""
    if path in design.space:
        return [_label(value) for value in design.space[path]]
    return gene_labels(design, baseline)[path]


def axes_of(design: Search, baseline: Candidate) -> list[str]:
    """Return the axes and the genes."""
    return [*design.space, *gene_labels(design, baseline)]


def gene_labels(design: Search, baseline: Candidate) -> dict[str, list[str]]:
    """Return the values of every gene."""
    return {
        f"{stack}/{gene}": [*values]
        for stack, structure in design.structure.items()
        for gene, values in structure.genes(baseline.architecture, stack).items()
    }


def order_of(design: Search, path: str) -> list[str] | None:
    """Return the labels of an axis of numbers in rising order; None if its values, or the sampler, have no order."""
    if path not in design.space:
        return None
    values = design.space[path]
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    if design.sampler not in ORDERED or not numbers or len(values) < 2:
        return None
    return [_label(value) for value in sorted(values)]


def encoded(design: Search, path: str, label: str) -> str | int:
    """Return a label as the sampler knows it: the rank of a number among the axis's values, else the label."""
    order = order_of(design, path)
    return label if order is None else order.index(label)


def suggested(design: Search, trial: Suggests, path: str, values: list[str]) -> str:
    """Return the label that a sampler suggests."""
    order = order_of(design, path)
    if order is None:
        return str(trial.suggest_categorical(path, values))
    return order[trial.suggest_int(path, 0, len(order) - 1)]


def possible(baseline: Candidate, point: Mapping[str, Any], constraints: tuple[str, ...] = ()) -> str | None:
    """Return the identity of a point's candidate, None if it violates a rule or a constraint."""
    try:
        candidate = apply(baseline, point)
    except InvalidOverride:
        return None
    return identity(candidate) if broken_by(candidate, constraints) is None else None


def identity(candidate: Candidate) -> str:
    """Return a hash that is equal for equal candidates only."""
    return fingerprint(canonical(candidate))


class PointSequence(Protocol):
    """A sequence of points that no result changes."""

    def up_to(self, count: int) -> tuple[dict[str, Any], ...]:
        """Return the first `count` points; fewer if the space is exhausted."""


class KnownCandidates:
    """The identity and the point of candidates by their changes, each encoded once: it takes milliseconds."""

    def __init__(self, design: Search, baseline: Candidate, constraints: tuple[str, ...] = ()) -> None:
        self._design, self._baseline, self._constraints = design, baseline, constraints
        self._encoded: dict[str, tuple[str, Mapping[str, str]]] = {}
        self._drawn: dict[str, str | None] = {}
        self.sequence: PointSequence | None = None
        """The points of a sampler that learns from no result, which goes on from cohort to cohort."""

    def possible(self, point: Mapping[str, Any]) -> str | None:
        """Return the identity of a point's candidate, None if it breaks a rule; samplers repeat their points."""
        text = canonical_text({**point})
        if text not in self._drawn:
            if len(self._drawn) == DRAWN_POINTS:
                self._drawn.clear()
            self._drawn[text] = possible(self._baseline, point, self._constraints)
        return self._drawn[text]

    def identity(self, changes: Mapping[str, JsonValue]) -> str:
        """Return a hash that is equal for changes to equal candidates only."""
        return self._of(changes)[0]

    def point(self, changes: Mapping[str, JsonValue]) -> Mapping[str, str]:
        """Return the candidate's label on every axis that it has, as `point_of` does."""
        return self._of(changes)[1]

    def remember(self, arm: Arm) -> None:
        """Encode a candidate that is built already."""
        text = canonical_text({**arm.changes})
        self._encoded[text] = arm.fingerprint, point_of(self._design, arm.candidate)

    def _of(self, changes: Mapping[str, JsonValue]) -> tuple[str, Mapping[str, str]]:
        text = canonical_text({**changes})
        if text not in self._encoded:
            self.remember(Arm("", apply(self._baseline, {**changes}), changes))
        return self._encoded[text]


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


def _axes_of(candidate: Candidate, paths: tuple[str, ...]) -> frozenset[str]:
    document = candidate.model_dump()
    return frozenset(path for path in paths if _has(document, path))


@cached_until_options_change
def _axes_with(baseline: Candidate, options: str, paths: tuple[str, ...]) -> frozenset[str] | None:
    """Return the axes that the baseline has with options, written as JSON; None if these are of a wrong type."""
    try:
        return _axes_of(applied(baseline, json.loads(options)), paths)
    except InvalidOverride:
        return None


def _label(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return _label_of_number(value)
    return str(value["kind"]) if isinstance(value, Mapping) else canonical_text(value)


@lru_cache(maxsize=1 << 16, typed=True)
def _label_of_number(value: float) -> str:
    """Return the text of a number or of a truth value; every proposal asks for the labels of whole axes."""
    return canonical_text(value)

"""A factorial as a crossed design of level numbers, and the effects that missing runs confound."""

from collections.abc import Set

from search_space.candidate import Candidate
from steeplechase.analysis.contrasts import CrossedDesign, first_names
from steeplechase.configuration.designs.factorial import Factorial
from steeplechase.configuration.designs.point import label, level
from steeplechase.foundation.canonical import canonical_text


def crossed(design: Factorial, baseline: Candidate, missing: Set[str] = frozenset()) -> CrossedDesign | None:
    """Return the runs of a factorial; `missing` has the names of points that are left out.

    None if a factor is absent at some point: a field of an option is not crossed with options that lack it.
    """
    points = list(design.points(baseline))
    if any(point.levels.keys() != design.vary.keys() for point in points):
        return None
    texts = level_texts(design)
    runs = tuple(
        tuple(known.index(canonical_text(point.levels[path])) for path, known in texts.items()) for point in points
    )
    remaining = tuple(run for run, point in zip(runs, points, strict=True) if point.name not in missing)
    names = tuple(tuple(f"{path}={label(value)}" for value in values) for path, values in design.vary.items())
    return CrossedDesign(tuple(design.vary), names, runs, remaining)


def level_texts(design: Factorial) -> dict[str, list[str]]:
    """Return each factor's levels as canonical text, in declared order."""
    return {path: [canonical_text(level(value)) for value in values] for path, values in design.vary.items()}


def missing_runs_warning(design: CrossedDesign) -> str:
    """Return a warning about the consequences of missing runs; empty if none is missing."""
    if not design.missing:
        return ""
    correlated = design.correlated()
    not_estimable = [contrast.name for contrast in design.contrasts() if contrast.reason]
    parts = [f"{design.missing} of {len(design.runs)} runs are impossible and the factorial is not full"]
    parts += [f"no longer balanced: {first_names(design.unbalanced())}"] if design.unbalanced() else []
    parts += [f"no longer orthogonal: {first_names(correlated)}"] if correlated else []
    parts.append(f"not estimable: {first_names(not_estimable)}" if not_estimable else "every effect is estimable")
    return "; ".join(parts)

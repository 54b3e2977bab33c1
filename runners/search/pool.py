"""The pool of a policy: distinct candidates of a search space, drawn uniformly before any of them is trained."""

from dataclasses import dataclass
from typing import Any

from runners.policies.features import features_of
from runners.policies.policy import Numbers
from runners.search.encoding import draw, identity, point_of, possible, uniformly
from steeplechase.configuration.arm import Arm, changed_arm
from steeplechase.configuration.experiment import Experiment
from steeplechase.foundation.canonical import canonical_text
from steeplechase.foundation.randomness import stream

DRAWS_PER_CANDIDATE = 200
"""Repeated and invalid draws in a row after which the space counts as exhausted."""


@dataclass(frozen=True)
class Pool:
    """Arms without names, in random order, and their configurations as numbers."""

    arms: tuple[Arm, ...]
    features: Numbers
    """[candidates, features] in [0, 1]."""


def pool_of(experiment: Experiment) -> Pool:
    """Return up to `max_candidates` candidates less the baseline; deterministic in the design and its seed.

    The order of the axes in the file has no effect: the ledger's document has another one.
    """
    assert experiment.search is not None
    in_order = dict(sorted(experiment.search.space.items()))
    design, baseline = experiment.search.model_copy(update={"space": in_order}), experiment.baseline
    choose = uniformly(stream(design.seed, "pool of a policy"))
    points: list[dict[str, Any]] = []
    known, seen, repeats = {identity(baseline)}, set[str](), 0
    while len(points) < design.max_candidates - 1 and repeats < DRAWS_PER_CANDIDATE:
        point, repeats = draw(design, baseline, choose), repeats + 1
        if point is None or (text := canonical_text(point)) in seen:
            continue
        seen.add(text)
        name = possible(baseline, point, experiment.constraints)
        if name is not None and name not in known:
            known.add(name)
            points.append(point)
            repeats = 0
    arms = tuple(changed_arm("", baseline, point) for point in points)
    genomes = [point_of(design, arm.candidate) for arm in arms] if design.structure else [{} for _ in arms]
    axes = [{path: value for path, value in point.items() if path in design.space} for point in points]
    return Pool(arms, features_of([{**chosen, **of_arm} for chosen, of_arm in zip(axes, genomes, strict=True)]))

"""The pretraining objectives of an experiment: of its arms, and of the candidates that a search may propose."""

from collections.abc import Iterator
from contextlib import suppress
from itertools import product

from search_space.objective import Objective
from search_space.overrides import InvalidOverride, apply
from steeplechase.configuration.designs import Search
from steeplechase.configuration.experiment import Experiment


def objectives_of(experiment: Experiment) -> Iterator[Objective]:
    """Yield the objectives of the baseline, of all accepted arms, and of all candidates that a search may propose."""
    yield experiment.baseline.objective
    yield from (arm.candidate.objective for arm in experiment.accepted_arms)
    yield from searched_objectives(experiment)


def searched_objectives(experiment: Experiment) -> Iterator[Objective]:
    """Yield the objectives of every combination of a search's axes of objectives; invalid ones are left out."""
    for design in experiment.designs:
        space = design.space if isinstance(design, Search) else {}
        axes = {path: values for path, values in space.items() if path.partition(".")[0] == "objective"}
        for values in product(*axes.values()) if axes else ():
            with suppress(InvalidOverride):  # the design's own violations say why
                yield apply(experiment.baseline, dict(zip(axes, values, strict=True))).objective

"""A search: a sampler proposes candidates in cohorts, from the results of earlier cohorts."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from configuration.designs.axes import impossible_with_every_option
from foundation.errors import Violation
from foundation.schema import Count, Schema, Seed
from search_space.candidate import Candidate

NON_ADAPTIVE = ("qmc", "brute_force")
"""Samplers with one sequence, whatever the results: each cohort continues it."""
MEASURED = ("held_out_loss", "score")
Objective = Literal["held_out_loss", "score", "parameters", "forward_flops", "train_flops", "seconds"]
"""An optimised quantity. `score` is maximised, all others are minimised; `seconds` is measured, so that a search over
it cannot be reproduced on another machine."""


Rate = Annotated[float, Field(gt=0, le=1)]


class Tournament(Schema):
    """Parameters of tournament selection; defaults from So et al. 2019 (100, 30, 0.025)."""

    population: Count = 100
    """Size of the population."""
    tournament_size: Count = 30
    """Candidates of a tournament, at most the population."""
    mutation_rate: Rate = 0.025
    """Probability that a gene of a child is redrawn; a child that equals its parent is mutated again."""
    initial_population: Literal["baseline", "random"] = "baseline"
    """First generation: mutations of the baseline, or uniform draws, until the population is full."""


class Search(Schema):
    """The search space, the number of candidates and the sampler.

    An axis that is a field of an option (`convolution.kernel_size`) is drawn only with an option that has the field.
    Cohorts make the search independent of the number of workers: a cohort is proposed at once, from all results of
    earlier cohorts and nothing else.
    """

    kind: Literal["search"] = "search"
    """Chooses a search: candidates are proposed from the results of earlier ones."""
    space: Mapping[str, tuple[Any, ...]] = Field(min_length=1, examples=[{"bottleneck_ratio": [1, 2, 4]}])
    """Axes of the search space: by path, the values to choose from."""
    max_candidates: Count = Field(default=20, examples=[20])
    """Maximum number of candidates; the baseline, arms of other designs and every repeated proposal count."""
    cohort: Count = 5
    """Number of candidates that are proposed together, from the results of earlier cohorts."""
    sampler: Literal["tpe", "random", "gp", "nsga2", "qmc", "brute_force", "tournament"] = "tpe"
    """Sampler of the proposals: an Optuna sampler by name, or `tournament` (So et al. 2019)."""
    tournament: Tournament = Field(default_factory=Tournament)
    """Parameters of the sampler `tournament`."""
    seed: Seed = 0
    """Seed of the proposals."""
    objectives: tuple[Objective, ...] = Field(default=("held_out_loss",), min_length=1)
    """Optimised quantities; the first must be a measured metric, several give a Pareto front."""
    max_seeds: Count | None = None
    """Maximum number of seeds of a candidate: a repeated proposal adds a seed up to this number, then it is drawn
    again. Default: the number of `pretraining.seeds`, so that no seed is added."""
    warm_start: tuple[str, ...] = ()
    """Results folders of earlier searches of this space, whose finished trials the sampler starts from."""

    def violations(self, baseline: Candidate) -> Iterator[Violation]:
        """Yield empty axes, duplicate values and values that are impossible with every option."""
        yield from self._objective_violations()
        for path, values in self.space.items():
            if not values:
                yield Violation(("space", path), "no values to choose from; list at least one")
            for position, value in enumerate(values):
                location = ("space", path, position)
                if value in values[:position]:
                    yield Violation(location, f"{value!r} is listed twice on this axis")
                elif _kind(value) is not None and _kind(value) in map(_kind, values[:position]):
                    remedy = f"let its fields vary on axes of their own, such as {path}.kernel_size"
                    yield Violation(location, f"{_kind(value)} is listed twice on this axis; {remedy}")
                else:
                    yield from impossible_with_every_option(baseline, self._options(path), {path: value}, location)

    def _objective_violations(self) -> Iterator[Violation]:
        for position, objective in enumerate(self.objectives):
            if objective in self.objectives[:position]:
                yield Violation(("objectives", position), f"{objective} is listed twice")
        if self.objectives[0] not in MEASURED:
            message = f"{self.objectives[0]} is a cost; the first objective must be {' or '.join(MEASURED)}"
            yield Violation(("objectives", 0), message)
        if len(self.objectives) > 1 and self.sampler == "tournament":
            yield Violation(("objectives", 1), "tournament selection has one objective. Did you mean nsga2?")

    def _options(self, path: str) -> list[Mapping[str, Any]]:
        """Return the options that have the axis as a field; one empty choice if it is not a field of an option."""
        parent = path.rpartition(".")[0]
        return [{parent: option} for option in self.space.get(parent, ())] or [{}]


def _kind(value: Any) -> Any:
    return value["kind"] if isinstance(value, Mapping) and "kind" in value else None

"""A search: candidates proposed in cohorts by a sampler that has seen the earlier cohorts' results."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from configuration.designs.axes import unsuited
from foundation.errors import Violation
from foundation.schema import Count, Schema, Seed
from search_space.candidate import Candidate

MEASURED = ("held_out_loss", "score")
Objective = Literal["held_out_loss", "score", "parameters", "forward_flops", "train_flops", "seconds"]
"""What is optimised. `score` is to be large and all else small; `seconds` is measured, so a search that looks at it
cannot be repeated on another machine."""


Rate = Annotated[float, Field(gt=0, le=1)]


class Tournament(Schema):
    """Sizes and rates; the defaults are those that the paper is remembered for (100, 30, 0.025)."""

    population: Count = 100
    """Candidates that live at a time."""
    tournament_size: Count = 30
    """Candidates of a tournament; at most as many as live."""
    mutation_rate: Rate = 0.025
    """Probability that a gene of a child is redrawn; a child that equals its parent is mutated again."""
    initial_population: Literal["baseline", "random"] = "baseline"
    """Whether the first generation is mutated from the baseline, or drawn evenly until the population is full."""


class Search(Schema):
    """The axes of the space, how many candidates to try, and who proposes them.

    An axis that is a field of an option (`convolution.kernel_size`) is drawn only where the option has it.
    Cohorts keep the search the same whatever the number of workers: a cohort is proposed at once, from all
    results of the cohorts before it and from nothing else.
    """

    kind: Literal["search"] = "search"
    """Chooses a search: candidates are proposed from the results of earlier ones."""
    space: Mapping[str, tuple[Any, ...]] = Field(min_length=1, examples=[{"bottleneck_ratio": [1, 2, 4]}])
    """By path, the values to choose from: an axis of the search space each."""
    max_candidates: Count = Field(default=20, examples=[20])
    """How many proposals at most: the baseline and the arms of other designs count, and so does every repeat."""
    cohort: Count = 5
    """Candidates that are proposed together, from the results of the cohorts before."""
    sampler: Literal["tpe", "random", "gp", "nsga2", "qmc", "brute_force", "tournament"] = "tpe"
    """Who proposes: an Optuna sampler by name, or `tournament` (So et al. 2019)."""
    tournament: Tournament = Field(default_factory=Tournament)
    """How the sampler of that name selects and mutates."""
    seed: Seed = 0
    """Seed of the proposals."""
    objectives: tuple[Objective, ...] = Field(default=("held_out_loss",), min_length=1)
    """What is optimised; the first has to be measured, several give a Pareto front."""
    max_seeds: Count | None = None
    """A proposal that repeats a candidate is that candidate at its next seed, up to so many seeds; then it is drawn
    again. By default as many as `pretraining.seeds` names, so that no other seed is trained."""
    warm_start: tuple[str, ...] = ()
    """Results folders of earlier searches of this space: what they finished is told to the sampler."""

    def violations(self, baseline: Candidate) -> Iterator[Violation]:
        """Yield empty axes, repeated values and values that no option could take."""
        yield from self._objective_violations()
        for path, values in self.space.items():
            if not values:
                yield Violation(("space", path), "no values to choose from; list at least one")
            for position, value in enumerate(values):
                place = ("space", path, position)
                if value in values[:position]:
                    yield Violation(place, f"{value!r} stands twice on this axis")
                elif _kind(value) is not None and _kind(value) in map(_kind, values[:position]):
                    remedy = f"let its fields vary on axes of their own, such as {path}.kernel_size"
                    yield Violation(place, f"{_kind(value)} stands twice on this axis; {remedy}")
                else:
                    yield from unsuited(baseline, self._options(path), {path: value}, place)

    def _objective_violations(self) -> Iterator[Violation]:
        for position, objective in enumerate(self.objectives):
            if objective in self.objectives[:position]:
                yield Violation(("objectives", position), f"{objective} stands twice")
        if self.objectives[0] not in MEASURED:
            message = f"{self.objectives[0]} is a cost; the first objective is {' or '.join(MEASURED)}"
            yield Violation(("objectives", 0), message)
        if len(self.objectives) > 1 and self.sampler == "tournament":
            yield Violation(("objectives", 1), "tournament selection has one objective. Did you mean nsga2?")

    def _options(self, path: str) -> list[Mapping[str, Any]]:
        """Return the choices of the axis that this one belongs to; one empty choice where it belongs to none."""
        parent = path.rpartition(".")[0]
        return [{parent: option} for option in self.space.get(parent, ())] or [{}]


def _kind(value: Any) -> Any:
    return value["kind"] if isinstance(value, Mapping) and "kind" in value else None

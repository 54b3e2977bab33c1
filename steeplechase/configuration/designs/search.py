"""A search: a sampler proposes candidates in cohorts, from the results of earlier cohorts."""

from collections.abc import Iterator, Mapping
from itertools import product
from math import prod
from typing import Annotated, Any, Literal

from pydantic import Field

from search_space.architecture import Architecture
from search_space.candidate import Candidate
from search_space.encoder_decoder_architecture import EncoderDecoderArchitecture
from search_space.structure import Structure
from search_space.structure.option import StackName
from steeplechase.configuration.designs.axes import POINTS_TRIED, impossible_with_every_option
from steeplechase.configuration.designs.axis_values import VALUES_AT_MOST, Axis
from steeplechase.configuration.policies import PolicyName, policy_of
from steeplechase.configuration.policies.policy import Tournament
from steeplechase.foundation.errors import Violation, listed_twice
from steeplechase.foundation.schema import Count, PositiveNumber, Schema, Seed

SeveralSeeds = Annotated[int, Field(ge=2, le=2**53)]
Ablation = Literal["one_factor", "leave_one_out", "coalitions"]
"""Arms between the baseline and the winner: each of its changes alone, all but one, or every set of them."""


class Finalists(Schema):
    """The best candidates by the objectives at their last rung are trained to the end, beside the baseline."""

    count: Count = 3
    """Number of finalists."""
    seeds: SeveralSeeds = 5
    """Number of pretraining seeds of each, of the baseline and of the winner's ablation; the search has used none of
    them."""


NON_ADAPTIVE = ("brute_force",)
"""Samplers with one sequence, whatever the results: each cohort continues it."""
MEASURED = ("held_out_loss", "score")
Objective = Literal["held_out_loss", "score", "parameters", "forward_flops", "train_flops", "seconds"]
"""An optimised quantity. `score` is maximised, all others are minimised; `seconds` is measured, so that a search over
it cannot be reproduced on another machine."""


BY_COHORT = ("cohort", "sampler", "random_share", "max_seeds", "warm_start")
"""Fields of a search by cohorts, which a policy does without."""


class Search(Schema):
    """The search space, the number of candidates and the sampler.

    An axis that is a field of an option (`convolution.kernel_size`) is drawn only with an option that has the field.
    Cohorts make the search independent of the number of workers: a cohort is proposed at once, from all results of
    earlier cohorts and nothing else.
    """

    kind: Literal["search"] = "search"
    """Chooses a search: candidates are proposed from the results of earlier ones."""
    space: Mapping[str, Axis] = Field(default_factory=dict, examples=[{"bottleneck_ratio": [1, 2, 4]}])
    """Axes of the search space: by path, the values to choose from, or a range of numbers."""
    structure: Mapping[StackName, Structure] = Field(default_factory=dict, examples=[{"layers": {"kind": "cells"}}])
    """Spaces of layer programs beside the axes: of `layers`, and of `decoder_layers` of an encoder with a decoder."""
    max_candidates: int = Field(default=20, ge=1, le=1_000_000, examples=[20])
    """Maximum number of candidates; the baseline, arms of other designs and every repeated proposal count."""
    cohort: Count = 5
    """Number of candidates that are proposed together, from the results of earlier cohorts."""
    sampler: Literal["tpe", "random", "gp", "nsga2", "brute_force"] = "tpe"
    """Sampler of the proposals: an Optuna sampler by name."""
    random_share: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Share of the proposals that are drawn uniformly in place of the sampler's; 0.5 is every second one, which costs
    little where the sampler learns and bounds the loss where it is misled."""
    tournament: Tournament = Field(default_factory=Tournament)
    """Parameters of the policies that evolve candidates."""
    seed: Seed = 0
    """Seed of the proposals."""
    objectives: tuple[Objective, ...] = Field(default=("held_out_loss",), min_length=1)
    """Optimised quantities; the first must be a measured metric, several give a Pareto front."""
    max_seeds: Count | None = None
    """Maximum number of seeds of a candidate: a repeated proposal adds a seed up to this number, then it is drawn
    again. Default: the number of `pretraining.seeds`, so that no seed is added."""
    warm_start: tuple[str, ...] = ()
    """Results folders of earlier searches of this space, whose finished trials the sampler starts from."""
    finalists: Finalists | None = None
    """The best candidates, trained to the end at fresh seeds and compared with the baseline. Default: none, unless no
    candidate finishes; then the best is trained to the end at the search's own seeds."""
    ablate_winner: Ablation | None = None
    """Arms between the baseline and the best finalist, at the same seeds: `one_factor`, each of its changes alone;
    `leave_one_out`, all but one; `coalitions`, every set of them, with Shapley values."""

    policy: PolicyName | None = None
    """Evolution in place of cohorts, under Progressive Dynamic Hurdles (So et al. 2019) or with one share of a
    training for every child; candidates pause at the rungs of the hurdle `pause`. Default: cohorts of the sampler's
    proposals under a hurdle."""
    trainings: PositiveNumber | None = Field(default=None, examples=[10])
    """Budget of the policy in full trainings of a candidate; a part counts by its share of tokens."""
    at_once: Count = 1
    """Candidates that the policy trains at the same time, whatever the number of workers."""

    def violations(self, baseline: Candidate) -> Iterator[Violation]:
        """Yield empty axes, duplicate values and values that are impossible with every option."""
        yield from self._objective_violations()
        yield from self._policy_violations()
        yield from self._tournament_violations()
        if self.ablate_winner is not None and self.finalists is None:
            message = "needs finalists, of which the best is ablated: finalists: { count: 3, seeds: 5 }"
            yield Violation(("ablate_winner",), message)
        yield from self._structure_violations(baseline.architecture)
        for path, values in self.space.items():
            if not values:
                yield Violation(("space", path), "no values to choose from; list at least one")
            if len(values) > VALUES_AT_MOST:
                yield Violation(("space", path), f"{len(values):,} values; at most {VALUES_AT_MOST:,} are allowed")
                continue
            for position, value in enumerate(values):
                location = ("space", path, position)
                if value in values[:position]:
                    yield Violation(location, f"{value!r} is listed twice on this axis")
                elif _kind(value) is not None and _kind(value) in map(_kind, values[:position]):
                    field = next(name for each in (value, *values[:position]) for name in each if name != "kind")
                    remedy = f"let its fields vary on axes of their own, such as {path}.{field}"
                    yield Violation(location, f"{_kind(value)} is listed twice on this axis; {remedy}")
                else:
                    options, alone = self._options(path), {path: value}
                    yield from impossible_with_every_option(self.space, baseline, options, alone, location)

    @property
    def is_of_objectives(self) -> bool:
        """Whether every axis is one of objectives."""
        return not self.structure and all(path.partition(".")[0] == "objective" for path in self.space)

    @property
    def objective_points(self) -> Iterator[Mapping[str, Any]]:
        """The combinations of the axes of objectives; of many, those that differ in one number from the first."""
        axes = {path: values for path, values in self.space.items() if path.partition(".")[0] == "objective"}
        numbers = [path for path, values in axes.items() if all(type(each) in (int, float) for each in values)]
        first = {path: values[:1] if path in numbers else values for path, values in axes.items()}
        few = prod(map(len, axes.values())) <= POINTS_TRIED
        for chosen in (axes,) if few else (first, *({**first, path: axes[path]} for path in numbers)):
            for values in product(*chosen.values()) if axes else ():
                yield dict(zip(chosen, values, strict=True))

    def _structure_violations(self, baseline: Architecture) -> Iterator[Violation]:
        """Yield structures without programs over the baseline, and axes that they already have."""
        if not self.space and not self.structure:
            yield Violation(("space",), "no axes and no structure; a search needs at least one of them")
        for stack, structure in self.structure.items():
            where = ("structure", stack)
            if stack == "decoder_layers" and not isinstance(baseline, EncoderDecoderArchitecture):
                yield Violation(where, "the baseline has no decoder; its program is layers")
                continue
            for mistake in structure.mistakes(baseline, stack):
                yield Violation(where, mistake)
            depth = "depth" if stack == "layers" else "decoder_depth"
            for path in (stack, depth, *structure.owned_sizes):
                if path in self.space:
                    message = f"the structure {structure.kind} of {stack} has it already. Leave one of them out"
                    yield Violation(("space", path), message)
            mutates = self.policy is not None and self.tournament.initial_population == "baseline"
            if mutates and structure.genome(baseline, stack) is None:
                message = (
                    "the baseline's program is not in this space, so that no mutant of it is; widen the space, or"
                )
                yield Violation(where, f"{message} start with tournament: {{initial_population: random}}")

    def _objective_violations(self) -> Iterator[Violation]:
        yield from listed_twice(self.objectives, "objectives")
        if self.objectives[0] not in MEASURED:
            message = f"{self.objectives[0]} is a cost; the first objective must be {' or '.join(MEASURED)}"
            yield Violation(("objectives", 0), message)

    def _tournament_violations(self) -> Iterator[Violation]:
        settings, usual = self.tournament, Tournament()
        if usual.tournament_size != settings.tournament_size > settings.population:
            message = f"{settings.tournament_size} is above the population, {settings.population}"
            yield Violation(("tournament", "tournament_size"), f"{message}; at most all of it take part")

    def _policy_violations(self) -> Iterator[Violation]:
        """Yield settings that a search with a policy needs, and those that have no effect."""
        if self.policy is None:
            for name in ("trainings", "at_once"):
                if self._is_set(name):
                    yield Violation((name,), "has an effect with a policy only; name one: policy: tournament")
            return
        if self.trainings is None:
            yield Violation(("policy",), f"{self.policy} needs a budget in full trainings, such as trainings: 10")
        for name in BY_COHORT:
            if self._is_set(name):
                yield Violation((name,), f"has no effect with policy {self.policy}; leave it out")
        if self.objectives not in (("held_out_loss",), ("score",)):
            yield Violation(("objectives",), f"policy {self.policy} has one objective, held_out_loss or score")
        if self.objectives == ("score",) and not policy_of(self.policy).trains_to_the_end(self.tournament):
            message = (
                "a score is measured at the end of a training alone. Did you mean policy: tournament, which trains "
                "every child to the end, or cohorts under a hurdle with a probe?"
            )
            yield Violation(("objectives", 0), message)

    def _is_set(self, name: str) -> bool:
        """Return whether a field has another value than its default; records hold every field."""
        return bool(getattr(self, name) != type(self).model_fields[name].get_default(call_default_factory=True))

    def _options(self, path: str) -> list[Mapping[str, Any]]:
        """Return the options that have the axis as a field; one empty choice if it is not a field of an option."""
        parent = path.rpartition(".")[0]
        return [{parent: option} for option in self.space.get(parent, ())] or [{}]


def _kind(value: Any) -> Any:
    return value["kind"] if isinstance(value, Mapping) and "kind" in value else None


def by_layer(design: Search, path: str) -> bool:
    """Return whether an axis has lists of sizes by layer, which an architecture keeps in its layer program."""
    return any(isinstance(value, list | tuple) for value in design.space[path])

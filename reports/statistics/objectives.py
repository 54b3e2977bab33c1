"""The declared objectives of a search: their values of the candidates that have all of them, and the Pareto front."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

from reports.number_format import fixed, short
from reports.statistics.arm_costs import COST_TITLES, COSTS, price_of
from reports.statistics.metrics import Metric
from reports.statistics.results import Results
from steeplechase.analysis.difference import Difference, SeedValues
from steeplechase.analysis.effects import paired
from steeplechase.analysis.pareto_front import front
from steeplechase.configuration.arm import BASELINE
from steeplechase.configuration.metrics import HELD_OUT_LOSS, SCORE, objectives_in_effect

LOSS_DECIMALS = 4


@dataclass(frozen=True)
class Objectives:
    """The objectives of a search in their order; the first is a measured metric."""

    results: Results

    @property
    def names(self) -> tuple[str, ...]:
        """The objectives that are in effect: of the declared ones, a score of no task is none."""
        comparable = self.results.experiment.pretraining.losses_compare
        return objectives_in_effect(self.declared, self.results.scored_tasks, comparable) or self.declared

    @property
    def declared(self) -> tuple[str, ...]:
        """The objectives as the experiment declares them."""
        search = self.results.experiment.search
        return (HELD_OUT_LOSS,) if search is None else search.objectives

    @property
    def without_score(self) -> str:
        """Why a declared score is no objective, and what is in its place; empty where it is one."""
        if SCORE not in self.declared or self.results.scored_tasks:
            return ""
        if SCORE in self.names:
            return "no task is above its references, so that the score is no objective and nothing takes its place"
        return f"no task is above its references, so that {self.title} takes the place of the score"

    @property
    def loss_alone(self) -> bool:
        """Whether the held-out loss is the only one, which candidates have at every rung."""
        return self.names == (HELD_OUT_LOSS,)

    @property
    def title(self) -> str:
        """The names in words."""
        return " and ".join(map(title_of, self.names))

    @property
    def first(self) -> Metric:
        """The metric that is the first objective."""
        return Metric(self.names[0])

    @cached_property
    def by_seed(self) -> Mapping[str, SeedValues]:
        """The first objective by arm and pretraining seed at the end of the budget."""
        return self._measured(self.names[0])

    @cached_property
    def values(self) -> Mapping[str, tuple[float, ...]]:
        """Every objective of the arms that have all of them, as measured, at the seeds of the baseline.

        A candidate of which a seed diverged has none.
        """
        measured = {name: self._measured(name) for name in self.names if name in (HELD_OUT_LOSS, SCORE)}
        found = {}
        for arm in self.results.arms:
            means = {name: adjusted_mean(by_arm, arm.name) for name, by_arm in measured.items()}
            if may_rank(self.results, arm.name) and all(mean is not None for mean in means.values()):
                prices = {name: price_of(self.results, arm, name) for name in self.names if name not in means}
                found[arm.name] = tuple(float({**means, **prices}[name] or 0.0) for name in self.names)
        return found

    @cached_property
    def front(self) -> tuple[str, ...]:
        """The arms that no other arm dominates, the best by the first objective first; empty of one objective."""
        if len(self.names) == 1:
            return ()
        arms = [*self.values]
        signed = [self.signed(arm) for arm in arms]
        return tuple(sorted((arms[index] for index in front(signed)), key=self.signed))

    def signed(self, arm: str) -> tuple[float, ...]:
        """Return an arm's objectives, each with the sign by which smaller is better."""
        pairs = zip(self.names, self.values[arm], strict=True)
        return tuple(-value if name == SCORE else value for name, value in pairs)

    def difference(self, arm: str, other: str) -> Difference:
        """Return the difference of two arms in the first objective, paired by seed."""
        return paired(self.by_seed.get(arm, {}), self.by_seed.get(other, {}))

    def text(self, arm: str, name: str) -> str:
        """Return an objective of an arm as text."""
        return value_text(name, self.values[arm][self.names.index(name)])

    def _measured(self, name: str) -> Mapping[str, SeedValues]:
        """Return a measured objective by arm and seed; the score is that of the tasks above their references."""
        tasks = self.results.scored_tasks if name == SCORE else (name,)
        found: dict[str, dict[int, float]] = {}
        for arm in self.results.arms:
            by_task = [self.results.values.get(arm.name, {}).get(task, {}) for task in tasks]
            seeds = set.intersection(*map(set, by_task)) if by_task else set()
            found[arm.name] = {seed: fmean(values[seed] for values in by_task) for seed in sorted(seeds)}
        return found


def may_rank(results: Results, arm: str) -> bool:
    """Return whether an arm is compared with candidates: the baseline, or a candidate of which no seed diverged.

    The mean of a candidate's other seeds would be one of the seeds that did not diverge.
    """
    return arm == BASELINE or not results.diverged(arm)[0]


def title_of(name: str) -> str:
    """Return an objective in words."""
    return COST_TITLES.get(name, Metric(name).title)


def value_text(name: str, value: float) -> str:
    """Return a value of an objective as text."""
    if name in COSTS:
        return short(round(value))
    return (
        f"{fixed(value, 0)} s" if name == "seconds" else fixed(value, LOSS_DECIMALS if name == HELD_OUT_LOSS else 1)
    )


def adjusted_mean(measured: Mapping[str, Mapping[int, float]], arm: str) -> float | None:
    """Return an arm's mean adjusted to the baseline's seeds: mean over shared seeds plus the baseline's shift there.

    The adjustment removes effects of the seed if arms have different seeds. Without a measured baseline the mean of
    all arms replaces it. None if the arm shares no seed with the reference.
    """
    values, reference = measured.get(arm, {}), measured.get(BASELINE) or _mean_by_seed(measured.values())
    shared = sorted(values.keys() & reference.keys())
    if not shared:
        return None
    shift = (
        0.0
        if len(shared) == len(reference)
        else fmean(reference.values()) - fmean(reference[seed] for seed in shared)
    )
    return fmean(values[seed] for seed in shared) + shift


def _mean_by_seed(measured: Iterable[Mapping[int, float]]) -> dict[int, float]:
    by_seed: dict[int, list[float]] = {}
    for values in measured:
        for seed, value in values.items():
            by_seed.setdefault(seed, []).append(value)
    return {seed: fmean(values) for seed, values in by_seed.items()}

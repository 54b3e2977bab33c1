"""The one door to Optuna: proposes points of a search space from what earlier candidates achieved.

The study lives in memory and is rebuilt from the ledger for every cohort. A candidate that was stopped is told as
PRUNED with the losses it had, one that diverged or failed as FAIL, so that no short run passes for a long one.
"""

import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from configuration.designs.search import Search
from configuration.tuning_points import Extent
from foundation.randomness import stream, stream_seed
from foundation.schema import JsonValue
from runners.search.encoding import draw, evenly, identity, labels, mutant, point_of, possible
from runners.search.evolution import Individual, offspring
from search_space.candidate import Candidate
from search_space.overrides import apply

if TYPE_CHECKING:
    import optuna

ASKS_OF_SAMPLER = 20  # TPE asks for its favourite again and again; then a point is drawn evenly
ASKS_PER_POINT = 200  # repeats and impossible points are drawn again; a space this worn out is exhausted
BLIND = ("qmc", "brute_force")  # one sequence whatever the results: every cohort reads on where the last one ended
RELATIVE = ("gp", "nsga2")  # Optuna asks these only for the axes that every finished trial has
LARGER_IS_BETTER = ("score",)

Point = dict[str, Any]


@dataclass(frozen=True)
class Observation:
    """What a candidate achieved: its changes from the baseline, and its held-out loss at each mark it reached."""

    changes: Mapping[str, JsonValue]
    losses: tuple[float, ...]
    complete: bool
    """Whether it spent the whole budget."""
    objectives: tuple[float, ...] = ()
    """Of a complete one: its value by each of the search's objectives; the last loss where that is the only one."""
    proposed: bool = True
    """Whether this search proposed it: not the baseline, nor what another search has told."""
    seeds: int = 1
    """How many trials it stands for; more of them are repeats."""

    @property
    def values(self) -> tuple[float, ...]:
        """The objectives in their order."""
        return self.objectives or self.losses[-1:]


def propose(
    design: Search,
    baseline: Candidate,
    seen: tuple[Observation, ...],
    cohort: int,
    count: int,
    constraints: tuple[str, ...] = (),
    seeds: int = 1,
) -> tuple[Point, ...]:
    """Return up to `count` points as changes; fewer only where the space has no more that can be found.

    A new candidate has so many `seeds`; a point that was proposed before is its candidate at one seed more, up to
    `design.max_seeds`. The baseline is never proposed.
    """
    if design.sampler in BLIND:
        past = sum(one.proposed for one in seen)
        return _Proposals(design, baseline, (), 0, constraints, seeds).take(past + count)[past:]
    return _Proposals(design, baseline, seen, cohort, constraints, seeds).take(count)


class _Proposals:
    """A cohort in the making."""

    def __init__(
        self,
        design: Search,
        baseline: Candidate,
        seen: tuple[Observation, ...],
        cohort: int,
        constraints: tuple[str, ...],
        seeds: int,
    ) -> None:
        self._design, self._baseline, self._seen, self._cohort = design, baseline, seen, cohort
        self._constraints, self._seeds = constraints, seeds
        self._study = _study(design, baseline, seen, cohort)
        self._own, self._even = self._study.sampler, _even_sampler(design, cohort)
        self._taken: Counter[str] = Counter()
        for one in seen:
            if one.proposed:
                self._taken[identity(apply(baseline, dict(one.changes)))] += one.seeds
        self._asked = 0

    def take(self, count: int) -> tuple[Point, ...]:
        points: list[Point] = []
        misses = 0
        for _ in range(ASKS_PER_POINT * count):
            if len(points) == count or (misses > ASKS_PER_POINT and self._design.sampler in BLIND):
                break
            evenly = misses >= ASKS_OF_SAMPLER and self._design.sampler not in BLIND
            self._study.sampler = self._even if evenly else self._own
            trial, point = self._ask(evenly)
            misses += 1
            if point is not None and self._wanted(point):
                misses = 0
                points.append(point)
            elif not self._refuse(trial):
                break
        return tuple(points)

    def _ask(self, evenly: bool) -> "tuple[optuna.Trial, Point | None]":
        self._asked += 1
        if self._design.sampler == "tournament" and not evenly:
            return self._study.ask(), self._child()
        whole = self._design.sampler in ("qmc", *RELATIVE)
        trial = self._study.ask(_whole_space(self._design) if whole else None)
        return trial, draw(self._design, self._baseline, trial.suggest_categorical)

    def _wanted(self, point: Point) -> bool:
        name = possible(self._baseline, point, self._constraints)
        if name is None or name == identity(self._baseline) or self._taken[name] >= self._most:
            return False
        self._taken[name] += 1 if self._taken[name] else self._seeds
        return True

    @property
    def _most(self) -> int:
        """How many seeds a candidate may have; a sequence that ignores results meets each point once."""
        return 1 if self._design.sampler in BLIND else self._design.max_seeds or self._seeds

    def _refuse(self, trial: "optuna.Trial") -> bool:
        """Tell the study that a point was of no use; False where the sampler has nothing else to offer."""
        try:
            self._study.tell(trial, state=_states().FAIL)
        except RuntimeError:  # the brute-force sampler's way of saying that every point has been
            return False
        return True

    def _child(self) -> Point | None:
        design, baseline = self._design, self._baseline
        seen = ((point_of(design, apply(baseline, dict(one.changes))), _fitness(one)) for one in self._seen)
        born = [Individual(genome, loss) for genome, loss in seen]
        born = born or [Individual(point_of(design, baseline), float("inf"))]
        number = stream_seed(self._cohort, "number of a child", self._asked) % 2**32
        ways = (
            lambda genome, chance: mutant(design, baseline, genome, chance),
            lambda chance: draw(design, baseline, evenly(chance)) or {},
        )
        return offspring(design.tournament, design.seed, born, number, ways)


def importance(design: Search, baseline: Candidate, seen: tuple[Observation, ...]) -> dict[str, float]:
    """Return each axis's share of the variance of the loss at the first mark, empty where too few have reached it."""
    import optuna

    alone = design.model_copy(update={"objectives": ("held_out_loss",), "sampler": "random"})
    study = _study(alone, baseline, (), 0)
    for one in seen:
        if one.losses:
            told = _told(alone, baseline, Observation(one.changes, one.losses[:1], complete=True), 0)
            assert told is not None
            study.add_trial(told)
    shared = [path for path in design.space if "." not in path]
    try:
        evaluator = optuna.importance.PedAnovaImportanceEvaluator()
        return dict(optuna.importance.get_param_importances(study, evaluator=evaluator, params=shared))
    except (ValueError, RuntimeError):
        return {}


def draws(
    extents: Mapping[str, Extent], counts: Mapping[str, int], sampler: Literal["qmc", "random"], seed: int
) -> Iterator[dict[str, float]]:
    """Yield points without end, blind to all results: a number from each extent, a place among each count."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    made, root = optuna.samplers, stream_seed(seed, "draws") % 2**32
    space: dict[str, optuna.distributions.BaseDistribution] = {
        path: optuna.distributions.FloatDistribution(one.low, one.high, log=one.log) for path, one in extents.items()
    }
    space |= {path: optuna.distributions.CategoricalDistribution(range(count)) for path, count in counts.items()}
    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
    even = made.RandomSampler(seed=root)
    own = even if sampler == "random" else made.QMCSampler(seed=root, scramble=True, warn_independent_sampling=False)
    study = optuna.create_study(sampler=own)
    if sampler == "qmc":  # its sequence begins with the second trial
        first = {path: one.low for path, one in extents.items()} | dict.fromkeys(counts, 0)
        study.add_trial(optuna.trial.create_trial(params=first, distributions=space, value=0.0))
    while True:
        trial = study.ask(space)
        study.tell(trial, 0.0)
        yield dict(trial.params)


def _study(design: Search, baseline: Candidate, seen: tuple[Observation, ...], cohort: int) -> "optuna.Study":
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    seed, made = stream_seed(design.seed, "proposals", cohort) % 2**32, optuna.samplers
    samplers = {
        "random": lambda: made.RandomSampler(seed=seed),
        "tournament": lambda: made.RandomSampler(seed=seed),
        "tpe": lambda: made.TPESampler(seed=seed, n_startup_trials=design.cohort, constant_liar=True),
        "gp": lambda: made.GPSampler(seed=seed, n_startup_trials=design.cohort),
        "nsga2": lambda: _genetic_sampler(max(2, design.cohort), seed),
        "qmc": lambda: made.QMCSampler(seed=seed, scramble=True, warn_independent_sampling=False),
        "brute_force": lambda: made.BruteForceSampler(seed=seed),
    }
    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)  # their seeds and this version are pinned
    ways = optuna.study.StudyDirection
    directions = [ways.MAXIMIZE if name in LARGER_IS_BETTER else ways.MINIMIZE for name in design.objectives]
    study = optuna.create_study(directions=directions, sampler=samplers[design.sampler]())  # type: ignore[no-untyped-call]
    for number, one in enumerate(seen):
        told = _told(design, baseline, one, number)
        if told is not None:
            study.add_trial(told)
    return study


def _genetic_sampler(population: int, seed: int) -> "optuna.samplers.BaseSampler":
    """Return NSGA-II (Deb et al. 2002) with a cohort as its generation.

    Optuna writes a trial's generation down while it samples the trial, which no trial rebuilt from a ledger has been.
    Here the parents are the best `population` of all that finished, by non-dominated sorting and crowding distance;
    while fewer have finished, points are drawn evenly, as in the first generation of the paper.
    """
    import optuna

    class Generational(optuna.samplers.NSGAIISampler):
        def get_trial_generation(self, study: optuna.Study, trial: optuna.trial.FrozenTrial) -> int:
            return int(len(self.get_population(study, 0)) >= population)

        def get_population(self, study: optuna.Study, generation: int) -> list[optuna.trial.FrozenTrial]:
            return study.get_trials(deepcopy=False, states=(_states().COMPLETE,))

    return Generational(seed=seed, population_size=population)


def _even_sampler(design: Search, cohort: int) -> "optuna.samplers.BaseSampler":
    import optuna

    return optuna.samplers.RandomSampler(seed=stream_seed(design.seed, "even proposals", cohort) % 2**32)


def _whole_space(design: Search) -> "dict[str, optuna.distributions.BaseDistribution]":
    """Return every axis, those of options not chosen too: a low-discrepancy sequence needs its dimensions fixed."""
    import optuna

    return {path: optuna.distributions.CategoricalDistribution(labels(design, path)) for path in design.space}


def _told(design: Search, baseline: Candidate, one: Observation, number: int) -> "optuna.trial.FrozenTrial | None":
    """Return the trial that a sampler sees of a candidate; None where it has no use for it.

    For a sampler in RELATIVE a value that is not on its axis leaves the candidate out, and an axis that the candidate
    does not have is filled by chance: either would end the sampler's look at the axis altogether.
    """
    import optuna

    whole = point_of(design, apply(baseline, dict(one.changes)))
    point = {path: label for path, label in whole.items() if label in labels(design, path)}
    if design.sampler in RELATIVE:
        if point != whole:
            return None
        choose = evenly(stream(design.seed, "values of axes that a candidate lacks", number))
        point = {path: point.get(path) or choose(path, labels(design, path)) for path in design.space}
    several = len(design.objectives) > 1  # then Optuna has no way to look at an unfinished trial
    stopped = _states().PRUNED if one.losses and not several else _states().FAIL
    return optuna.trial.create_trial(
        state=_states().COMPLETE if one.complete else stopped,
        values=list(one.values) if one.complete else None,
        params=point,
        distributions={path: optuna.distributions.CategoricalDistribution(labels(design, path)) for path in point},
        intermediate_values={} if several else dict(enumerate(one.losses)),
    )


def _fitness(one: Observation) -> float:
    """Return what a tournament compares: the last loss known, at whichever mark, as in So et al. 2019."""
    return one.losses[-1] if one.losses else float("inf")


def _states() -> Any:
    from optuna.trial import TrialState

    return TrialState

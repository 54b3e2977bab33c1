"""Samplers from Optuna: propose points of a search space given earlier observations.

The study is in memory and is rebuilt from the ledger for every cohort. A stopped candidate is added as PRUNED with
its values at the rungs (`study_values`), or with the values that it is expected to have at the end where the sampler
cannot use pruned trials; a diverged one is the worst of those. One without any value is added as FAIL.
"""

import math
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from runners.search.encoding import (
    KnownCandidates,
    axes_of,
    draw,
    encoded,
    identity,
    labels,
    order_of,
    suggested,
    uniformly,
)
from runners.search.observations import Observation
from runners.search.study_values import MAXIMISED, expected_values, values_at_rungs
from search_space.candidate import Candidate
from steeplechase.configuration.designs.search import NON_ADAPTIVE, Search
from steeplechase.foundation.randomness import stream, stream_seed

if TYPE_CHECKING:
    import optuna

ASKS_BEFORE_UNIFORM = 20  # TPE may propose the same point repeatedly; afterwards points are drawn uniformly
ASKS_PER_POINT = 200  # repeated and invalid points are redrawn this often; then the space counts as exhausted
REJECTED_IN_A_ROW = 4096  # by brute force, which draws no point twice; then the space counts as exhausted too
RELATIVE = ("gp", "nsga2")  # Optuna samples with these only on axes that all finished trials have

Point = dict[str, Any]


def propose(
    design: Search,
    baseline: Candidate,
    observations: tuple[Observation, ...],
    cohort: int,
    count: int,
    seeds: int = 1,
    known: KnownCandidates | None = None,
) -> tuple[Point, ...]:
    """Return up to `count` points as changes; fewer if the space is exhausted.

    A new candidate is trained at `seeds` seeds; a point that was proposed before adds one seed to its candidate, up
    to `design.max_seeds`. The baseline is never proposed. `known` keeps encodings from cohort to cohort, and
    has the constraints.
    """
    known = known or KnownCandidates(design, baseline)
    if design.sampler in NON_ADAPTIVE:
        proposed = sum(observation.proposed for observation in observations)
        known.sequence = known.sequence or _CohortSampler(design, baseline, (), 0, seeds, known)
        return known.sequence.up_to(proposed + count)[proposed:]
    return _CohortSampler(design, baseline, observations, cohort, seeds, known).up_to(count)


class _CohortSampler:
    """Samples the candidates of one cohort, or of all cohorts where no result changes them."""

    def __init__(
        self,
        design: Search,
        baseline: Candidate,
        observations: tuple[Observation, ...],
        cohort: int,
        seeds: int,
        known: KnownCandidates,
    ) -> None:
        import optuna

        self._design, self._baseline, self._known, self._seeds = design, baseline, known, seeds
        self._study = _study(design, baseline, () if design.sampler == "random" else observations, cohort, known)
        self._sampler, self._fixed = self._study.sampler, design.sampler in NON_ADAPTIVE
        self._uniform = optuna.samplers.RandomSampler(stream_seed(design.seed, "even proposals", cohort) % 2**32)
        self._proposed = sum(observation.proposed for observation in observations)
        self._points, self._rejected = list[Point](), 0
        self._taken: Counter[str] = Counter()
        for observation in observations:
            if observation.proposed:
                self._taken[known.identity(observation.changes)] += observation.seeds

    def up_to(self, count: int) -> tuple[Point, ...]:
        """Return the first `count` points; fewer if the space is exhausted."""
        points, asked, most = self._points, 0, ASKS_PER_POINT * count
        while len(points) < count and (self._rejected <= REJECTED_IN_A_ROW if self._fixed else asked < most):
            asked += 1
            number, share = self._proposed + len(points), self._design.random_share
            uniform = self._rejected >= ASKS_BEFORE_UNIFORM or int((number + 1) * share) > int(number * share)
            self._study.sampler = self._uniform if uniform and not self._fixed else self._sampler
            trial, point = self._ask()
            self._rejected += 1
            if point is not None and self._accept(point):
                self._rejected = 0
                points.append(point)
            elif not self._reject(trial):
                break
        return tuple(points[:count])

    def _ask(self) -> "tuple[optuna.Trial, Point | None]":
        every_axis = None
        if self._design.sampler in RELATIVE:  # whose space is fixed: axes of unselected options are asked too
            paths = axes_of(self._design, self._baseline)
            every_axis = {path: _distribution(self._design, path, self._baseline) for path in paths}
        trial = self._study.ask(every_axis)
        return trial, draw(self._design, self._baseline, partial(suggested, self._design, trial))

    def _accept(self, point: Point) -> bool:
        candidate = self._known.possible(point)
        if candidate is None or candidate == identity(self._baseline) or self._taken[candidate] >= self._max_seeds:
            return False
        self._taken[candidate] += 1 if self._taken[candidate] else self._seeds
        return True

    @property
    def _max_seeds(self) -> int:
        """Maximum seeds per candidate; a non-adaptive sequence visits each point once."""
        return 1 if self._design.sampler in NON_ADAPTIVE else self._design.max_seeds or self._seeds

    def _reject(self, trial: "optuna.Trial") -> bool:
        """Report a rejected point to the study as failed; return False if the sampler is exhausted."""
        import optuna

        try:
            self._study.tell(trial, state=optuna.trial.TrialState.FAIL)
        except RuntimeError:  # raised by the brute-force sampler when every point was visited
            return False
        return True


def importance(design: Search, baseline: Candidate, observations: tuple[Observation, ...]) -> dict[str, float]:
    """Return each axis's share of the variance of the first objective by fANOVA (Hutter et al. 2014, PMLR 32, 754).

    What an axis explains alone, over the sum of all; empty without two different values. At the first rung, which
    every candidate reaches; of a score that no probe measures there, at the end. Numbers are ordered.
    """
    import optuna

    objective = design.objectives[0]
    single = design.model_copy(update={"objectives": (objective,), "sampler": "tpe"})
    known = KnownCandidates(single, baseline)
    study = _study(single, baseline, (), 0, known)
    for observation in observations:
        value = _first_value(objective, observation)
        if not _on_every_axis(single, baseline, known.point(observation.changes)):
            continue  # a baseline beside the space would take its axes from the comparison
        if value is not None and not math.isnan(value):  # a diverged one has none
            first = Observation(observation.changes, (value,), complete=True)
            trial = _frozen_trial(single, baseline, first, 0, known)
            assert trial is not None
            study.add_trial(trial)
    if len({trial.value for trial in study.trials}) < 2:  # without variance there are no shares, and Optuna warns
        return {}
    shared = [path for path in axes_of(design, baseline) if all(path in trial.params for trial in study.trials)]
    evaluator = optuna.importance.FanovaImportanceEvaluator(seed=0)
    try:
        shares = optuna.importance.get_param_importances(study, evaluator=evaluator, params=shared)
    except (ValueError, RuntimeError):
        return {}
    return {axis: float(share) for axis, share in shares.items()}


def _on_every_axis(design: Search, baseline: Candidate, point: Mapping[str, str]) -> bool:
    """Return whether every value of a candidate is on its axis."""
    return all(label in labels(design, path, baseline) for path, label in point.items())


def _first_value(objective: str, observation: Observation) -> float | None:
    if objective in MAXIMISED and not observation.scores:
        return observation.values[0] if observation.complete else None
    at_rungs = values_at_rungs(objective, observation)
    return at_rungs[0] if at_rungs else None


def _study(
    design: Search, baseline: Candidate, observations: tuple[Observation, ...], cohort: int, known: KnownCandidates
) -> "optuna.Study":
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    seed, available = stream_seed(design.seed, "proposals", cohort) % 2**32, optuna.samplers
    samplers = {
        "random": lambda: available.RandomSampler(seed=seed),
        "tpe": lambda: available.TPESampler(seed=seed, n_startup_trials=design.cohort, constant_liar=True),
        "gp": lambda: _gaussian_process_sampler(design.cohort, seed),
        "nsga2": lambda: _genetic_sampler(max(2, design.cohort), seed),
        "brute_force": lambda: available.BruteForceSampler(seed=seed),
    }
    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)  # seeds and version are pinned
    direction = optuna.study.StudyDirection
    directions = [direction.MAXIMIZE if name in MAXIMISED else direction.MINIMIZE for name in design.objectives]
    study = optuna.create_study(directions=directions, sampler=samplers[design.sampler]())  # type: ignore[no-untyped-call]
    told = enumerate(as_told(design, observations))
    trials = (_frozen_trial(design, baseline, observation, number, known) for number, observation in told)
    study.add_trials(filter(None, trials))
    return study


def as_told(design: Search, observations: tuple[Observation, ...]) -> Iterator[Observation]:
    """Yield the observations; those without an end at their expected values where pruned trials cannot be used."""
    if len(design.objectives) == 1 and design.sampler not in RELATIVE:
        yield from observations
        return
    finished = [each for each in observations if each.complete]
    reference = next((each for each in reversed(observations) if not each.changes), None)  # others' have no rungs
    for each in observations:
        stopped = (bool(each.losses) or each.diverged) and not each.complete
        values = expected_values(design.objectives, each, reference, finished) if stopped else None
        yield each if values is None else replace(each, complete=True, objectives=values)


def _gaussian_process_sampler(cohort: int, seed: int) -> "optuna.samplers.BaseSampler":
    """Return a sampler whose proposals do not depend on the machine's cores: two threads sum in another order."""
    import torch
    from optuna.samplers import GPSampler

    torch.set_num_threads(1)  # beside busy workers it is faster too: the matrices are small
    return GPSampler(seed=seed, n_startup_trials=cohort)


def _genetic_sampler(population: int, seed: int) -> "optuna.samplers.BaseSampler":
    """Return NSGA-II (Deb et al. 2002) with a cohort as its generation.

    Optuna stores a trial's generation when it samples the trial; trials rebuilt from a ledger have none. Here the
    parents are the best `population` finished trials, by non-dominated sorting and crowding distance; while fewer
    have finished, points are drawn uniformly, as in the first generation of the paper.
    """
    import optuna

    class Generational(optuna.samplers.NSGAIISampler):
        def get_trial_generation(self, study: optuna.Study, trial: optuna.trial.FrozenTrial) -> int:
            return int(len(self.get_population(study, 0)) >= population)

        def get_population(self, study: optuna.Study, generation: int) -> list[optuna.trial.FrozenTrial]:
            return study.get_trials(deepcopy=False, states=(optuna.trial.TrialState.COMPLETE,))

    return Generational(seed=seed, population_size=population)


def _distribution(design: Search, path: str, baseline: Candidate) -> "optuna.distributions.BaseDistribution":
    """Return an axis as Optuna has it: the rank of a number among the axis's values, or a label without an order."""
    import optuna

    order = order_of(design, path)
    if order is None:
        return optuna.distributions.CategoricalDistribution(labels(design, path, baseline))
    return optuna.distributions.IntDistribution(0, len(order) - 1)


def _frozen_trial(
    design: Search, baseline: Candidate, observation: Observation, number: int, known: KnownCandidates
) -> "optuna.trial.FrozenTrial | None":
    """Return an observation as an Optuna trial, None if the sampler cannot use it.

    For samplers in RELATIVE, a candidate with a value outside its axis is omitted, and missing axes are filled at
    random: otherwise Optuna would stop sampling that axis with them.
    """
    every_label = known.point(observation.changes)
    point = {path: label for path, label in every_label.items() if label in labels(design, path, baseline)}
    if design.sampler in RELATIVE:
        if not _on_every_axis(design, baseline, every_label):
            return None
        choose = uniformly(stream(design.seed, "values of axes that a candidate lacks", number))
        axes = axes_of(design, baseline)
        point = {path: point.get(path) or choose(path, labels(design, path, baseline)) for path in axes}
    single = len(design.objectives) == 1
    return told_trial(
        {path: _distribution(design, path, baseline) for path in point},
        {path: encoded(design, path, label) for path, label in point.items()},
        values_at_rungs(design.objectives[0], observation) if single else (),
        list(observation.values) if observation.complete else None,
    )


def told_trial(
    axes: "Mapping[str, optuna.distributions.BaseDistribution]",
    point: Mapping[str, Any],
    losses: Sequence[float],
    values: list[float] | None,
) -> "optuna.trial.FrozenTrial":
    """Return a trial that was finished with some values, stopped after some losses, or has failed."""
    import optuna

    stopped = optuna.trial.TrialState.PRUNED if losses else optuna.trial.TrialState.FAIL
    return optuna.trial.create_trial(
        state=stopped if values is None else optuna.trial.TrialState.COMPLETE,
        values=values,
        params={**point},
        distributions={**axes},
        intermediate_values=dict(enumerate(losses)),
    )

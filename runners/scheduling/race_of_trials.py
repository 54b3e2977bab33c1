"""The search of a policy on real trials: results in the order of their arrival to new trials and decisions. Pure.

The actions of a policy are a function of the order in which results have arrived. A resumed run feeds the recorded
order to a new race, which takes the recorded decisions again, and then goes on.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from runners.policies.evolution import Action, Evolution, Judgement
from runners.scheduling.trial import Trial, value_at_hurdle
from runners.search.breeding import BreedingPool, ScoreFitness
from runners.stage_labels import pretrain_labels
from steeplechase.configuration.arm import BASELINE, Arm
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.metrics import SCORE
from steeplechase.configuration.policies import policy_of
from steeplechase.configuration.policies.policy import ROUNDING
from steeplechase.configuration.seeds import first_seeds
from steeplechase.foundation.errors import ConflictError
from steeplechase.foundation.randomness import stream
from steeplechase.ledger.records import Decision, KnownArm, Record, Status
from steeplechase.ledger.task_references import TaskReferences


class Race:
    """Truncates the last training to the budget in full trainings; `costs` are those of training to each point."""

    def __init__(self, evolution: Evolution, costs: NDArray[np.float64], budget: float) -> None:
        self.evolution, self._costs, self._budget, self._remaining = evolution, costs, budget, budget
        self.reached: dict[int, int] = {}
        """Observed points by candidate."""
        self.targets: dict[int, int] = {}
        """Points to which each candidate in training is trained."""
        self._truncated: int | None = None

    @property
    def spent(self) -> float:
        """Cost of the observed points."""
        in_progress = (
            self._cost(self.reached.get(candidate, 0), target) for candidate, target in self.targets.items()
        )
        return self._budget - self._remaining - sum(in_progress)

    def next_action(self, at_once: int) -> Iterator[Action]:
        """Yield the trainings to start now, until `at_once` are in progress."""
        while len(self.targets) < at_once and self._truncated is None:
            if (action := self.evolution.next_action()) is None:
                return
            candidate, done = action.candidate, self.reached.get(action.candidate, 0)
            affordable = self._cost(0, done) + self._remaining + ROUNDING
            points = min(action.points, int(np.searchsorted(self._costs, affordable, side="right")))
            self._truncated = candidate if points < action.points else None
            if points > done:
                self.targets[candidate] = points
                self._remaining -= self._cost(done, points)
                yield Action(candidate, points)

    def observe(self, candidate: int, values: Sequence[float]) -> None:
        """Add the new values of a candidate; after divergence the last one is infinite.

        A training that diverged before its target has cost what it was trained.
        """
        target = self.targets.pop(candidate)
        points = self.reached[candidate] = self.reached.get(candidate, 0) + len(values)
        self._remaining += self._cost(points, target)
        if candidate == self._truncated and points < target:
            self._truncated = None
        self.evolution.observe(candidate, points, values[-1])

    def _cost(self, done: int, points: int) -> float:
        before, after = (float(self._costs[each - 1]) if each else 0.0 for each in (done, points))
        return after - before


class RaceOfTrials:
    """Feeds a race with the records of trials; a candidate is an arm, its value the mean over the seeds."""

    def __init__(self, experiment: Experiment, references: Mapping[str, TaskReferences]) -> None:
        design = experiment.search
        assert design is not None
        assert design.policy is not None
        assert design.trainings is not None
        self.labels = pretrain_labels(experiment)
        self._seeds = first_seeds(experiment.pretraining.seeds)
        self._bred = BreedingPool(experiment)
        costs = np.array(experiment.pretraining.stage_ends) / experiment.pretraining.tokens
        generator = stream(design.seed, f"policy {design.policy}")
        self._evolution = Evolution(
            policy_of(design.policy), design.tournament, costs.tolist(), self._bred, generator
        )
        self._race = Race(self._evolution, costs, design.trainings)
        self._at_once, self._population = design.at_once, design.tournament.population
        self._fitness = ScoreFitness(experiment, references) if design.objectives[0] == SCORE else None
        self._started: list[str] = []
        """Names of the candidates, in starting order."""
        self._candidates: dict[str, int] = {}
        """Number in the pool by the name of an arm."""
        self._names: dict[int, str] = {}
        self._stopping: list[int] = []
        """Candidates that a hurdle of the policy has stopped, whose decisions are not taken yet."""
        self._entered, self._checked = 0, False
        """Number of rows of candidates that were compared with `started`, and whether all decisions were."""
        self._values: dict[str, list[float]] = {}
        """Losses of each trial at the points that it has reached since its candidate was observed last."""
        self.actions: list[Action] = []
        """Every action so far."""
        self._act()

    @property
    def over(self) -> bool:
        """Whether nothing trains, so that the search has ended."""
        return not self._race.targets

    @property
    def duplicates(self) -> int:
        """Children that equalled a candidate of before."""
        return self._evolution.duplicates

    def target(self, arm: str) -> int:
        """Return the points to which a candidate trains, or has trained where nothing more is asked."""
        candidate = self._candidates[arm]
        return self._race.targets.get(candidate, self._race.reached.get(candidate, 0))

    def add(self, record: Record) -> None:
        """Add a record of a trial; those of other stages, of the baseline and of audited trials change nothing.

        Nor does a failed stage: the next run repeats it, and its candidate trains until then.
        """
        if record.status is Status.FAILED:
            return
        assert record.trial is not None
        arm = record.trial.rpartition("/")[0]
        candidate = self._candidates.get(arm)
        if self._fitness is not None and (candidate is not None or arm == BASELINE):
            self._fitness.add(record)
        if candidate is None or candidate not in self._race.targets:
            return
        if record.label not in self.labels:
            if self._fitness is not None:
                self._arrive(candidate, arm)
            return
        value = value_at_hurdle(record, probed=False)
        self._values.setdefault(record.trial, []).append(np.inf if value is None or not np.isfinite(value) else value)
        self._arrive(candidate, arm)

    def _arrive(self, candidate: int, arm: str) -> None:
        """Pass the values of a candidate to the race if all of its trials have reached the target or diverged."""
        target, done = self._race.targets[candidate], self._race.reached.get(candidate, 0)
        trials = [f"{arm}/{seed}" for seed in self._seeds]
        curves = [self._values.get(trial, []) for trial in trials]
        if all(len(curve) >= target - done or (curve and np.isinf(curve[-1])) for curve in curves):
            values = _means(curves, target - done)
            if self._fitness is not None and np.isfinite(values[-1]):
                at_end = target == len(self.labels)  # the budget's last training may end before, without a score
                found = self._fitness.of(arm, values[-1]) if at_end else np.inf
                if found is None:
                    return
                values[-1] = found
            for trial in trials:
                self._values.pop(trial, None)
            self._race.observe(candidate, values)
            self._revalue()
            if (judged := self._evolution.judgements.get((candidate, target))) is not None and not judged.cleared:
                self._stopping.append(candidate)
            self._act()

    def _revalue(self) -> None:
        """Compare by other tasks where those above their references have changed; only in the first generation."""
        if self._fitness is not None and len(self._race.reached) <= self._population and self._fitness.changed():
            found = {number: self._fitness.value(name) for name, number in self._candidates.items()}
            self._evolution.revalue({number: value for number, value in found.items() if value is not None})

    def _act(self) -> None:
        for action in self._race.next_action(self._at_once):
            self.actions.append(action)
            if action.candidate not in self._race.reached:
                self._start(action.candidate)

    def _start(self, candidate: int) -> None:
        name = f"candidate-{len(self._started) + 1:03d}"
        self._started.append(name)
        self._candidates[name] = candidate
        self._names[candidate] = name

    def started(self, first: int = 0) -> tuple[Arm, ...]:
        """Return the candidates from a number on, with their names in starting order; built when asked for."""
        return tuple(self._bred.arm(self._candidates[name], name) for name in self._started[first:])

    @property
    def parents(self) -> dict[str, str]:
        """The first parent of every mutant, by name; that of mutants of the declared architecture is the baseline."""
        return {
            self._names[child]: BASELINE if parent is None else self._names[parent]
            for child, parent in self._bred.parents.items()
            if child in self._names
        }

    def not_entered(self, rows: Sequence[KnownArm], path: Path) -> Arm | None:
        """Return the first started candidate without a row; `rows` are those of the candidates.

        Raises ConflictError if the rows are not the candidates that the policy starts after the recorded results.
        """
        for row, name in zip(rows[self._entered :], self._started[self._entered :], strict=False):
            if (row.name, row.fingerprint) != (name, self._bred.fingerprint(self._candidates[name])):
                raise _other_decisions(path, row.name)
            self._entered += 1
        if len(rows) > len(self._started):
            raise _other_decisions(path, rows[len(self._started)].name)
        if len(rows) == len(self._started):
            return None
        name = self._started[len(rows)]
        return self._bred.arm(self._candidates[name], name)

    def decisions(self, trials: Mapping[str, Trial], path: Path) -> tuple[Decision, ...]:
        """Return the decisions that the actions imply: trials continue to their targets; at the end the others stop.

        Raises ConflictError if a trial was continued past its target.
        """
        targets = self._race.targets
        if not targets or not self._checked:
            names = [*self._candidates]
        else:
            names = [self._names[candidate] for candidate in (*targets, *self._stopping)]
        self._checked = True
        self._stopping.clear()
        return tuple(self._decisions([trials[f"{name}/{seed}"] for name in names for seed in self._seeds], path))

    def _decisions(self, trials: Iterable[Trial], path: Path) -> Iterator[Decision]:
        for trial in trials:
            level, target = len(trial.cleared), self.target(trial.plan.row.arm)
            if level >= target and not trial.stopped:
                raise _other_decisions(path, trial.name)
            candidate = self._candidates[trial.plan.row.arm]
            judged = self._evolution.judgements.get((candidate, level + 1))
            stops = self.over or (judged is not None and not judged.cleared)
            if trial.waiting and (stops or level + 1 < target):
                yield self._decision(trial, level, not stops, judged)

    def _decision(self, trial: Trial, level: int, cleared: bool, judged: Judgement | None) -> Decision:
        """Return a decision; one that the end of the budget took from a trial over the hurdle has no threshold."""
        if judged is None or judged.cleared != cleared:
            return Decision(0, trial.name, level, cleared, trial.view.value, None)
        return Decision(0, trial.name, level, cleared, trial.view.value, judged.threshold, len(judged.references))


def _means(curves: Sequence[Sequence[float]], points: int) -> list[float]:
    """Return the mean over curves at each of some points, up to the first infinite one."""
    means: list[float] = []
    for point in range(points):
        values = [curve[point] if point < len(curve) else np.inf for curve in curves]
        means.append(fmean(values))
        if np.isinf(means[-1]):
            break
    return means


def _other_decisions(path: Path, name: str) -> ConflictError:
    message = f"{path}: {name} is not what the policy decides after the recorded results; they are of other code."
    return ConflictError([message, "Did you mean another --out folder?"])

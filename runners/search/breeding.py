"""Candidates of a search space that are made during the search: draws and mutants, each numbered once; their fitness.

Genomes that give equal candidates have one number, so that a child that equals a candidate of before costs nothing.

The fitness in an evolution by score is the mean over the tasks above their references, sign changed. Which tasks are
above is tested over the baseline and the candidates so far, while the first generation finishes; a later generation
is bred by what the first one has shown. While no task is, the fitness is the held-out loss.
"""

from collections.abc import Mapping
from math import inf
from statistics import fmean
from typing import Any

from numpy.random import Generator

from runners.search.encoding import draw, identity, mutant, point_of, possible, uniformly
from runners.stage_labels import fine_tune_labels
from steeplechase.configuration.arm import Arm, changed_arm
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.seeds import first_seeds
from steeplechase.configuration.stage_label import StageLabel
from steeplechase.foundation.canonical import canonical_text
from steeplechase.ledger.records import Record, Status
from steeplechase.ledger.task_references import TaskReferences
from steeplechase.ledger.task_standing import standings, tasks_in_score
from steeplechase.ledger.trial_history import score_of


class ScoreFitness:
    """Collects the fine-tunings of trials; smaller values are fitter, and a diverged fine-tuning is the worst."""

    def __init__(self, experiment: Experiment, references: Mapping[str, TaskReferences]) -> None:
        self._tasks, self._references = experiment.fine_tuning.tasks, references
        self._comparable = experiment.pretraining.losses_compare
        self._labels, self._seeds = fine_tune_labels(experiment), first_seeds(experiment.pretraining.seeds)
        self._of_task = {
            task: tuple(label for label in self._labels if StageLabel.parse(label).task == task)
            for task in self._tasks
        }
        self._records: dict[str, dict[str, Record]] = {}
        """By trial and label."""
        self._losses: dict[str, float] = {}
        self._scores: dict[str, dict[str, dict[int, float]]] = {}
        """By arm, task and seed."""
        self._scored = self._tasks

    def add(self, record: Record) -> None:
        """Add a record; those that are no fine-tuning of the search, or that the next run repeats, change nothing."""
        if record.trial is None or record.label not in self._labels or record.status is Status.FAILED:
            return
        records = self._records.setdefault(record.trial, {})
        records[record.label] = record
        arm, _, seed = record.trial.rpartition("/")
        task = StageLabel.parse(record.label).task
        assert task is not None
        score = score_of(records.values(), self._of_task[task])
        if score is not None:
            self._scores.setdefault(arm, {}).setdefault(task, {})[int(seed)] = score

    def of(self, arm: str, loss: float) -> float | None:
        """Return the fitness of a candidate that was trained to the end; None before its fine-tunings have ended."""
        if not all(set(self._labels) <= self._records.get(f"{arm}/{seed}", {}).keys() for seed in self._seeds):
            return None
        self._losses[arm] = loss
        return self.value(arm)

    def value(self, arm: str) -> float | None:
        """Return the fitness of a candidate by the tasks in effect; None of one without it, as of a diverged one."""
        if arm not in self._losses:
            return None
        if not self._scored:
            return self._losses[arm] if self._comparable else 0.0  # nothing tells candidates apart
        scores = [self._scores.get(arm, {}).get(task, {}) for task in self._scored]
        complete = all(len(each) == len(self._seeds) for each in scores)
        return -fmean(fmean(each.values()) for each in scores) if complete else inf

    def changed(self) -> bool:
        """Test every task against its references; return whether others are in the score than before."""
        before, found = self._scored, standings(self._references, self._scores, self._tasks)
        self._scored = tasks_in_score(self._tasks, found)
        return self._scored != before


DRAWS = 1000
"""Invalid draws in a row, or mutants that equal the declared architecture, after which no candidate is found."""


class BreedingPool:
    """Implements Breeder; the declared architecture is none of the candidates.

    After `max_candidates` less the declared one there are no further candidates.
    """

    def __init__(self, experiment: Experiment) -> None:
        design, self._baseline = experiment.search, experiment.baseline
        assert design is not None
        in_order = dict(sorted(design.space.items()))  # records have another order of the axes than the file
        self._design, self._constraints = design.model_copy(update={"space": in_order}), experiment.constraints
        self._declared = identity(experiment.baseline)
        self._capacity = design.max_candidates - 1
        self._numbers: dict[str, int] = {}
        self._known: dict[str, int | None] = {}
        """The numbers of points that were seen before, None of those without one."""
        self._genomes: dict[int | None, dict[str, str]] = {}
        self._points: list[Mapping[str, Any]] = []
        """By number; a candidate is ten times as large, and built when asked for."""
        self._fingerprints: list[str] = []
        """By number."""
        self.parents: dict[int, int | None] = {}
        """By number, the first parent of each mutant; None is the declared architecture."""

    def drawn(self, generator: Generator) -> int | None:
        """Return a uniformly drawn candidate."""
        choose = uniformly(generator)
        for _ in range(DRAWS if len(self._points) < self._capacity else 0):
            point = draw(self._design, self._baseline, choose)
            number = None if point is None else self._number(point)
            if number is not None:
                return number
        return None

    def mutant(self, parent: int | None, rate: float, generator: Generator) -> int | None:
        """Return a mutant that differs from its parent and from the declared architecture."""
        assert rate == self._design.tournament.mutation_rate
        genome, before = self._genome(parent), len(self._points)
        for _ in range(DRAWS if before < self._capacity else 0):
            point = mutant(self._design, self._baseline, genome, generator)
            number = self._number(point) if point else None
            if number is not None and number != parent:
                if len(self._points) > before:
                    self.parents[number] = parent
                return number
        return None

    def arm(self, number: int, name: str = "") -> Arm:
        """Return a candidate as an arm."""
        return changed_arm(name, self._baseline, self._points[number])

    def fingerprint(self, number: int) -> str:
        """Return the hash of a candidate's identity."""
        return self._fingerprints[number]

    def _genome(self, number: int | None) -> dict[str, str]:
        """Return the genome of a candidate, or of the declared architecture."""
        if number not in self._genomes:
            candidate = self._baseline if number is None else self.arm(number).candidate
            self._genomes[number] = point_of(self._design, candidate)
        return self._genomes[number]

    def _number(self, point: dict[str, Any]) -> int | None:
        """Return the number of a point's candidate; None if it is impossible or declared."""
        key = canonical_text(point)
        if key not in self._known:
            self._known[key] = self._numbered(point)
        return self._known[key]

    def _numbered(self, point: dict[str, Any]) -> int | None:
        text = possible(self._baseline, point, self._constraints)
        if text is None or text == self._declared:
            return None
        if text not in self._numbers:
            self._numbers[text] = len(self._points)
            self._points.append(point)
            self._fingerprints.append(text)
        return self._numbers[text]

"""Fields worked by hand and by chance, and a race that runs a hurdle over tabulated values in any order."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from steeplechase.configuration.hurdles.population import HurdleDecision, Population, State, Threshold, TrialView
from steeplechase.configuration.hurdles.rungs import Hurdle


@dataclass
class Runner:
    """One trial of a race: its values at the marks; None where it diverges on the way."""

    name: str
    cohort: int
    values: Sequence[float | None]
    shown: list[float | None] = field(default_factory=list)
    decisions: list[HurdleDecision] = field(default_factory=list)
    fails: bool = False
    """Whether its worker dies on the way to the first mark that has no value."""
    exempt: bool = False

    def view(self, marks: Sequence[int]) -> TrialView:
        return TrialView(
            self.name,
            self.cohort,
            self.state(len(marks)),
            tuple(self.shown),
            len(self.decisions),
            final=self.values[-1] if [each.cleared for each in self.decisions] == [True] * len(marks) else None,
            exempt=self.exempt,
        )

    def state(self, marks: int) -> State:
        stopped = not all(decision.cleared for decision in self.decisions)
        diverged = any(value is None for value in self.shown) or (self.fails and self._next_is_missing())
        if self.exempt or stopped or diverged or len(self.decisions) == marks:
            return State.DONE
        return State.WAITING if len(self.shown) > len(self.decisions) else State.MOVING

    def _next_is_missing(self) -> bool:
        return len(self.shown) < len(self.values) and self.values[len(self.shown)] is None


def population_of(rule: Hurdle, entered: Sequence[Runner], marks: Sequence[int]) -> Population:
    """Return the population of runners after their decisions so far."""
    population = Population(runner.view(marks) for runner in entered)
    for runner in entered:
        for level, decision in enumerate(runner.decisions):
            fix(population, rule, runner, level, decision)
    return population


def fix(population: Population, rule: Hurdle, runner: Runner, level: int, decision: HurdleDecision) -> None:
    """Keep the threshold of a decision if the rule compares later arrivals with it."""
    if rule.fixes_thresholds and decision.threshold is not None:
        population.fix(runner.cohort, level, Threshold(decision.threshold, decision.references))


def race(rule: Hurdle, cohorts: Sequence[Sequence[Runner]], order: random.Random) -> dict[str, list[HurdleDecision]]:
    """Run cohort after cohort; whoever moves arrives in a random order. Fails where everybody waits for ever."""
    entered: list[Runner] = []
    marks = rule.rungs_of(3)
    for cohort in cohorts:
        entered += cohort
        while any(runner.state(len(marks)) is not State.DONE for runner in entered):
            moving = [runner for runner in entered if runner.state(len(marks)) is State.MOVING]
            if moving and order.random() < 0.7:  # several may arrive before anybody is judged
                runner = order.choice(moving)
                runner.shown.append(runner.values[len(runner.shown)])
                continue
            decided = rule.decide(population_of(rule, entered, marks))
            assert decided or moving, "everybody waits and nobody is judged"
            for runner in entered:
                if runner.name in decided:
                    assert runner.state(len(marks)) is State.WAITING
                    runner.decisions.append(decided[runner.name])
    return {runner.name: runner.decisions for runner in entered}


def runners(table: Sequence[Sequence[Sequence[float | None]]]) -> list[list[Runner]]:
    """Return cohorts of runners from their values."""
    return [
        [Runner(f"{cohort}-{position:02d}", cohort, values) for position, values in enumerate(members)]
        for cohort, members in enumerate(table)
    ]


def random_table(chance: random.Random, marks: int = 2) -> list[list[list[float | None]]]:
    """Return one to three cohorts of one to seven; a tenth of the values is missing, and some are level."""
    return [
        [
            [
                None if chance.random() < 0.1 else round(chance.uniform(3, 6), chance.choice((1, 3)))
                for _ in range(marks)
            ]
            for _ in range(chance.randint(1, 7))
        ]
        for _ in range(chance.randint(1, 3))
    ]

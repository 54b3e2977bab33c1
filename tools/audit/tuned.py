"""Tuning: the points tried for every arm, the selection, and the comparison with every arm at its own recipe."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tools.audit import verdicts
from tools.audit.exports import DIVERGED, FINISHED, LOSS, Row, Trial, read_export
from tools.audit.rule import Published, Rule
from tools.audit.study import Study

PARTS = ("n", "delta", "low", "high", "p", "p_adjusted", "verdict")
AT = "@"
"""Between an arm's name and the point's in the name of a tuning trial's arm."""


@dataclass(frozen=True)
class Tuning:
    """The tuning trials of a published experiment."""

    study: Study
    """The study at the shared recipe."""

    @property
    def plan(self) -> Row:
        """The points that were tried, and the settings of the trials."""
        return dict(self.study.export.facts["tuning"])

    @property
    def points(self) -> Sequence[Row]:
        """The changes of every point; the first is the shared recipe."""
        return list(self.plan["points"])

    @cached_property
    def tried(self) -> Study:
        """The study of the tuning trials, whose arms are `arm@point`."""
        return Study(read_export(self.study.export.folder, _of_tuning, self.plan["labels"]))

    def trials(self, arm: str, point: int) -> list[Trial]:
        """Return the trials of an arm at a point."""
        return self.tried.export.of_arm(f"{arm}{AT}{self.plan['names'][point]}")

    def value(self, arm: str, point: int) -> float | None:
        """Return the mean over seeds of the metric that tuning compares; None where a seed has no value."""
        return _mean([self._of_trial(trial) for trial in self.trials(arm, point)])

    def _of_trial(self, trial: Trial) -> float | None:
        if trial.status == DIVERGED:
            return None
        if self.plan["metric"] == LOSS:
            return trial.final_loss
        return _mean([self.tried.values[trial.arm].get(task, {}).get(trial.seed) for task in self.tried.tasks])

    def chosen(self, arm: str) -> int:
        """Return the number of the best point; of equal ones the shared recipe, then the smaller change."""
        sign = 1.0 if self.plan["metric"] == LOSS else -1.0
        values = {point: self.value(arm, point) for point in range(len(self.points))}
        ranked = [
            (sign * value, point != 0, *self._size(point), point)
            for point, value in values.items()
            if value is not None
        ]
        return min(ranked)[-1] if ranked else 0

    def _size(self, point: int) -> tuple[int, float]:
        changes, shared = self.points[point], self.plan["shared"]
        pairs = [(new, shared[path]) for path, new in changes.items()]
        ratios = [abs(math.log(new / old)) for new, old in pairs if _positive(new) and _positive(old)]
        return len(changes), sum(ratios)

    def edges(self, point: int) -> str | None:
        """Return the fields whose value at a point is the smallest or largest tried; 0 is no edge."""
        found = []
        for path, shared in self.plan["shared"].items():
            tried = [_number(each.get(path, shared)) for each in self.points]
            numbers, value = [number for number in tried if number is not None], tried[point]
            if value is None or len(set(numbers)) < 2:
                continue
            leaf = path.rpartition(".")[2]
            if value == max(numbers):
                found.append(f"{leaf} {value:g}, the largest")
            elif value == min(numbers) and value > 0:
                found.append(f"{leaf} {value:g}, the smallest")
        return "; ".join(found) or None

    @cached_property
    def own(self) -> Study:
        """The study with every arm at the recipe selected for it, under its usual name."""
        chosen = {arm: self.chosen(arm) for arm in self.study.arms}

        def name_of(row: Mapping[str, str]) -> str:
            arm = row["tuned_from"] or ("" if row["tuning_trial_of"] else row["name"])
            return arm if arm in chosen and bool(row["tuned_from"]) == (chosen[arm] > 0) else ""

        return Study(read_export(self.study.export.folder, name_of))


def _of_tuning(row: Mapping[str, str]) -> str:
    return row["name"] if row["tuning_trial_of"] else ""


def _mean(values: Sequence[float | None]) -> float | None:
    """Return the mean; None where a value is missing."""
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known and len(known) == len(values) else None


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _positive(value: Any) -> bool:
    number = _number(value)
    return number is not None and number > 0


def compared(study: Study) -> Study:
    """Return the study that the papers' claims are tested on: at own recipes where arms were tuned."""
    return Tuning(study).own if "tuning" in study.export.facts else study


def tuning(study: Study, _: Published) -> Iterator[Row]:
    """Yield every arm at every point that was tried, with the selection."""
    found = Tuning(study)
    for arm in study.arms:
        chosen = found.chosen(arm)
        for point, changes in enumerate(found.points):
            statuses = [trial.status for trial in found.trials(arm, point)]
            value = found.value(arm, point)
            selected = point == chosen
            yield {
                "arm": arm,
                "point": point,
                "name": found.plan["names"][point],
                "changes": str(changes),
                "trials": len(statuses),
                "finished": statuses.count(FINISHED),
                "diverged": statuses.count(DIVERGED),
                "value": value,
                "chosen": selected,
                "edge": found.edges(point) if selected and value is not None else None,
            }


def tuned(study: Study, _: Published) -> Iterator[Row]:
    """Yield the differences and verdicts of every arm at the shared recipe and at its own: two families."""
    found = Tuning(study)
    sides = {"shared": _effects(study), "own": _effects(found.own)}
    for arm, metric in sides["shared"]:
        row = {"arm": arm, "metric": metric, "recipe": found.plan["names"][found.chosen(arm)]}
        for side, effects in sides.items():
            effect = effects.get((arm, metric), {"n": 0})
            row |= {f"{side}_{part}": effect.get(part) for part in PARTS}
        yield row


def _effects(study: Study) -> dict[tuple[str, str], Row]:
    return {(row["arm"], row["metric"]): row for row in verdicts.effects(study, ())}


def own_recipe(study: Study, published: Published) -> Iterator[Row]:
    """Yield mean and difference of every arm at its own recipe."""
    yield from verdicts.results(Tuning(study).own, published)


RULES = {
    "tuning": Rule(("arm", "point"), tuning),
    "tuned": Rule(("arm", "metric"), tuned),
    "own_recipe": Rule(("arm", "metric"), own_recipe, {"status": verdicts.TEXT}),
}

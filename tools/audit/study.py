"""One value per arm, metric and pretraining seed, and the differences that tables take from them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tools.audit.attention import ALL_MASS, concentration, heads_of
from tools.audit.exports import (
    BASELINE,
    DIAGONAL,
    DIVERGED,
    FINISHED,
    LOSS,
    SCORE,
    Export,
    Row,
    Trial,
    finite,
    scores_of,
)
from tools.audit.inference import (
    ALPHA,
    BySeed,
    Estimate,
    contrast,
    over_seeds_and_examples,
    wider,
)
from tools.audit.sampled_examples import ExampleSet, of_losses, of_tasks
from tools.audit.seed_values import mean_by_seed, mean_over_tasks, summary
from tools.audit.standings import below

LAST_LOOK = 0.5
"""Share of alpha at the last look of a group-sequential design; the looks before it share the rest evenly."""


@dataclass(frozen=True)
class Study:
    """The values of one published experiment."""

    export: Export

    @property
    def document(self) -> Row:
        """The experiment as it was declared."""
        return self.export.document

    @property
    def paired(self) -> bool:
        """Whether the experiment declares that its seeds pair."""
        return bool(self.document.get("comparison", "welch") == "paired")

    @property
    def tasks(self) -> list[str]:
        """The tasks by name."""
        return sorted(self.document["fine_tuning"]["tasks"])

    @property
    def arms(self) -> list[str]:
        """The arms, the baseline first."""
        return [arm.name for arm in self.export.arms]

    @property
    def rivals(self) -> list[str]:
        """The arms without the baseline."""
        return [arm for arm in self.arms if arm != BASELINE]

    @cached_property
    def with_other_loss(self) -> set[str]:
        """The arms with another held-out loss than the baseline: losses of their predictions are not exported."""
        if self.document["pretraining"].get("evaluation_sets", "shared") == "shared":
            return set()
        return {arm for arm in self.rivals if arm not in self.export.example_losses}

    @cached_property
    def fine_tuned(self) -> dict[str, dict[str, dict[int, tuple[float, ...]]]]:
        """By arm, metric and pretraining seed, one value per fine-tuning seed; without the score."""
        found: dict[str, dict[str, dict[int, tuple[float, ...]]]] = {arm: {} for arm in self.arms}
        for trial in self.export.trials:
            for metric, values in self._of_trial(trial).items():
                found[trial.arm].setdefault(metric, {})[trial.seed] = values
        return found

    def _of_trial(self, trial: Trial) -> dict[str, tuple[float, ...]]:
        found: dict[str, tuple[float, ...]] = {}
        if trial.final_loss is not None and trial.arm not in self.with_other_loss:
            found[LOSS] = (trial.final_loss,)
        if (heads := heads_of(trial)) and (c := concentration(heads, ALL_MASS)) is not None:
            found[DIAGONAL] = (c,)
        done = trial.scored
        for task in self.tasks:
            expected = {label for label in trial.labels if label.partition("#")[0] == task}
            if expected and expected <= done.keys():
                scores = [scores_of(done[label]) for label in sorted(expected)]
                for metric in sorted(set.intersection(*map(set, scores))):
                    values = tuple(finite(each[metric]) for each in scores)
                    if None not in values:
                        name = task if metric == self.primary(task) else f"{task}:{metric}"
                        found[name] = values  # type: ignore[assignment]
        return found

    def primary(self, task: str) -> str:
        """Return the metric that stands under the task's own name: the one without a column `task:metric`."""
        further = {row["metric"] for row in self.export.tables["results"]}
        measured = {
            metric
            for trial in self.export.trials
            for result in trial.scored.values()
            if result["task"] == task
            for metric in result["scores"]
        }
        return min((metric for metric in measured if f"{task}:{metric}" not in further), default="")

    @cached_property
    def below_reference(self) -> list[str]:
        """The tasks whose mean over all arms does not exceed every reference: one-sided t, sd pooled over arms."""
        return [task for task in self.tasks if self._below(task)]

    def references(self, task: str) -> tuple[dict[str, float], list[float]]:
        """Return the task's references known without an encoder by name, and the scores of untrained encoders."""
        made = [result for result in self.export.shared_results("examples") if result["task"] == task]
        if not made:
            return {}, []
        found = {name: (made[-1].get(name) or {}).get(self.primary(task)) for name in ("bag_of_words", "ngram")}
        prefix = f"untrained {task}#"
        untrained = [r.result["scores"][self.primary(task)] for r in self.export.shared if r.label.startswith(prefix)]
        known = {name: finite(value) for name, value in {"chance": made[-1].get("chance"), **found}.items()}
        return {name: value for name, value in known.items() if value is not None}, untrained

    def _below(self, task: str) -> bool:
        samples = [mean_by_seed(of_arm.get(task, {})) for of_arm in self.fine_tuned.values()]
        return below(*self.references(task), [[*sample.values()] for sample in samples if sample])

    @cached_property
    def nested(self) -> dict[str, dict[str, dict[int, tuple[float, ...]]]]:
        """By arm, metric and pretraining seed, one value per fine-tuning seed, with the score."""
        scored = [task for task in self.tasks if task not in self.below_reference]
        found = {arm: {**by_metric} for arm, by_metric in self.fine_tuned.items()}
        for by_metric in found.values():
            samples = [by_metric.get(task, {}) for task in scored]
            seeds = set.intersection(*map(set, samples)) if samples else set()
            if seeds:
                by_metric[SCORE] = {seed: mean_over_tasks([sample[seed] for sample in samples]) for seed in seeds}
        return found

    @cached_property
    def values(self) -> dict[str, dict[str, dict[int, float]]]:
        """By arm and metric, the mean over fine-tuning seeds per pretraining seed."""
        return {
            arm: {metric: mean_by_seed(sample) for metric, sample in by_metric.items()}
            for arm, by_metric in self.nested.items()
        }

    def of(self, arm: str, metric: str) -> BySeed:
        """Return an arm's values on a metric."""
        return self.values.get(arm, {}).get(metric, {})

    @cached_property
    def metrics(self) -> list[str]:
        """Held-out loss, the score of several tasks, then tasks with their further metrics."""
        measured = {metric for by_metric in self.nested.values() for metric in by_metric}
        names = sorted(set(self.tasks) | measured - {LOSS, SCORE, DIAGONAL})
        above = not self.tasks or bool(set(self.tasks) - set(self.below_reference))
        scored = bool(names) and len(self.tasks) != 1 and above
        compared = not self.rivals or set(self.rivals) - self.with_other_loss
        return [*([LOSS] if compared else []), *([SCORE] if scored else []), *names]

    def in_place_of_score(self, metric: str) -> str:
        """Return the single task of a study in place of the score, which is its value."""
        return str(self.tasks[0]) if metric == SCORE and len(self.tasks) == 1 else metric

    @cached_property
    def headlines(self) -> list[str]:
        """Held-out loss and score, or the declared one of them; a single task takes the score's place."""
        declared = self.document.get("headline_metrics", [LOSS, SCORE])
        chosen = [self.in_place_of_score(metric) for metric in declared]
        return [m for m in self.metrics if m in chosen and (m == LOSS or m not in self.below_reference)]

    @cached_property
    def margins(self) -> Mapping[str, float]:
        """Equivalence margin by metric; the experiment's own overrides the paper's."""
        document, seeds = self.document, self.document["pretraining"]["seeds"]
        looks = seeds["until_decided"]["margin"] if isinstance(seeds, dict) else {}
        paper = (document.get("paper") or {}).get("margins", {})
        return self._with_single_task({**paper, **looks, **document.get("equivalence_margin", {})})

    @cached_property
    def paper_margins(self) -> Mapping[str, float]:
        """Margin of "about level" in the paper's orderings, by metric."""
        return self._with_single_task((self.document.get("paper") or {}).get("margins", {}))

    def _with_single_task(self, margins: Mapping[str, Any]) -> Mapping[str, float]:
        """Return the margins, the score's for a single task, which takes its place."""
        return {self.tasks[0]: margins[SCORE], **margins} if len(self.tasks) == 1 and SCORE in margins else margins

    def share(self, *arms: str) -> float:
        """Return the share of alpha spent at the look that the arms are at; the smallest of several arms."""
        seeds = self.document["pretraining"]["seeds"]
        if not isinstance(seeds, dict):
            return 1.0
        rule = seeds["until_decided"]
        looks = [*range(rule["start"], rule["max"], rule.get("step", 2)), rule["max"]]
        ends = [len(self.export.of_arm(arm)) >= looks[-1] for arm in arms]
        return min(LAST_LOOK if end else (1 - LAST_LOOK) / (len(looks) - 1) for end in ends)

    @property
    def last_share(self) -> float:
        """The share of alpha at the last look."""
        return LAST_LOOK if isinstance(self.document["pretraining"]["seeds"], dict) else 1.0

    def difference(self, arm: str, other: str, metric: str) -> Estimate:
        """Return arm minus other."""
        return self.contrast({arm: 1.0, other: -1.0}, metric)

    def contrast(self, weights: Mapping[str, float], metric: str) -> Estimate:
        """Return a weighted sum of arms, over seeds and examples where these were exported."""
        found = self.over_seeds(weights, metric)
        over = self.over_examples(weights, metric)
        return found if over is None else wider(found, over)

    def widest(self, arm: str, other: str, metric: str) -> Estimate:
        """Return arm minus other with at least the error of a bootstrap of seeds and examples."""
        weights = {arm: 1.0, other: -1.0}
        found, over = self.contrast(weights, metric), self.over_examples(weights, metric, as_resampled=True)
        return found if over is None else wider(found, over)

    def over_examples(
        self, weights: Mapping[str, float], metric: str, *, as_resampled: bool = False
    ) -> Estimate | None:
        """Return a weighted sum of arms over seeds and examples; None where these were not exported."""
        samples = [self.of(arm, metric) for arm in weights]
        sets = [[each.get(arm, {}) for arm in weights] for each in self.example_sets(metric)]
        sets = [each for each in sets if self.seeds(each) > 1]
        if not sets or self.seeds(samples) < 2:
            return None
        return over_seeds_and_examples(samples, sets, [*weights.values()], self.paired, as_resampled)

    def over_seeds(self, weights: Mapping[str, float], metric: str) -> Estimate:
        """Return a weighted sum of arms over seeds alone."""
        return contrast([self.of(arm, metric) for arm in weights], [*weights.values()], self.paired)

    def seeds(self, arms: Sequence[Mapping[int, Any]]) -> int:
        """Return the number of seeds that all arms have, unpaired the smallest number of any."""
        if not arms:
            return 0
        return len(set.intersection(*map(set, arms))) if self.paired else min(map(len, arms))

    def example_sets(self, metric: str) -> list[ExampleSet]:
        """Return by set of examples, arm and seed what the exported examples add to a metric.

        Sequences of the held-out loss, dev examples of a task; of the score, those of every task in it.
        """
        return self._sets.get(metric, [])

    @cached_property
    def _sets(self) -> dict[str, list[ExampleSet]]:
        return {metric: self._example_sets(metric) for metric in self.metrics}

    def _example_sets(self, metric: str) -> list[ExampleSet]:
        if metric == LOSS:
            return of_losses(self.export.example_losses, self.predictions_per_sequence)
        tasks = [each for each in self.tasks if each not in self.below_reference] if metric == SCORE else [metric]
        names = [task if ":" in task else f"{task}:{self.primary(task)}" for task in tasks]
        return of_tasks(self.export.example_values, names)

    @property
    def predictions_per_sequence(self) -> int:
        """Held-out predictions of one sequence, which is the example because they share its text."""
        sets = self.export.shared_results("evaluation_set")
        return int(sets[-1]["questions"] // sets[-1]["sequences"]) if sets else 1

    def interval(self, found: Estimate, *arms: str) -> Row:
        """Return n, delta, low and high as a table has them, at 95% or the level of the arms' look."""
        if math.isnan(found.value):
            return {"n": 0, "delta": None, "low": None, "high": None}
        low, high = found.interval(ALPHA * self.share(*arms))
        return {"n": found.n, "delta": found.value, "low": low, "high": high}

    def summary(self, arm: str, metric: str) -> Row:
        """Return n, mean and sd."""
        return summary(self.of(arm, metric))

    def ended(self, arm: str) -> tuple[int, int]:
        """Return the number of an arm's diverged trials, and of its diverged or finished ones."""
        statuses = [trial.status for trial in self.export.of_arm(arm)]
        return statuses.count(DIVERGED), statuses.count(DIVERGED) + statuses.count(FINISHED)

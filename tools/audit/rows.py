"""Exported rows: the values of every arm on every metric by pretraining seed, and those of single examples."""

import csv
import json
import math
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from tools.audit.inference import ALPHA, Estimate, contrast
from tools.audit.plateau import exit_of

BASELINE, LOSS, SCORE, DIAGONAL, FINISHED = "baseline", "held_out_loss", "score", "attention_diagonal", "finished"
POINTS = 100.0
APART = ("tuning_trial_of", "tuned_from")
"""Columns of arms that are no rows of the main table."""
Row = dict[str, Any]
Plateaus = Mapping[str, tuple[str, float]]
"""By arm the curve that has a plateau, and its level in nats."""

csv.field_size_limit(sys.maxsize)


def read_csv(path: Path) -> list[Row]:
    """Return the rows of a CSV file; cells that were escaped against spreadsheets have their own text again."""
    with path.open(encoding="utf-8", newline="") as lines:
        return [{name: cell.removeprefix("'") for name, cell in row.items()} for row in csv.DictReader(lines)]


def read_facts(ledger: Path) -> Row:
    """Return the facts of a ledger by name; the document is the latest amended one."""
    facts = {row["name"]: json.loads(row["content"]) for row in read_csv(ledger / "facts.csv")}
    amended = [name for name in facts if name.startswith("amendment ")]
    return {**facts, "document": facts[max(amended, key=lambda name: int(name.split()[1]), default="document")]}


class Pretrained(NamedTuple):
    """An ended pretraining: held-out loss by tokens, and whether it came to its end."""

    curve: Mapping[float, float]
    finished: bool


class Study:
    """The arms, metrics and values of one published experiment, each arm at the recipe that all share.

    `arms` has the row of every arm, the baseline first. `values` has by metric, arm and seed the mean over
    fine-tuning seeds, `examples` that of every example. `further`: published names of metrics, where the one that
    decides on a task has the task's name and another is called `task:metric`. `plateaus`: the curve and the level of
    each arm that has a plateau; after the rule of tasks below a reference, seeds that stayed on it have no values.
    """

    def __init__(self, ledger: Path, further: set[str], plateaus: Plateaus = MappingProxyType({})) -> None:
        facts = read_facts(ledger)
        self.document, self.labels, self.tuned = facts["document"], facts["labels"], "own_recipes" in facts
        self.added: list[Row] = facts.get("references") or []
        self.paper: Row = self.document.get("paper") or {}
        self.tasks: list[str] = sorted(self.document["fine_tuning"]["tasks"])
        designs = self.document.get("designs", self.document.get("design")) or []
        self.designs: list[Row] = designs if isinstance(designs, list) else [designs]
        rows = [row for row in read_csv(ledger / "arms.csv") if not any(row.get(name) for name in APART)]
        self.shown = {row["name"]: row["name"] for row in rows}
        if finals := [row for row in rows if row.get("final_of")]:
            rows = self._final_comparison(finals, facts["finalists"], facts.get("winner") or [])
        self.searched = any(design.get("kind") == "search" for design in self.designs)
        rows.sort(key=lambda row: (row["name"] != BASELINE, int(row["position"])))
        self.arms: dict[str, Row] = {row["name"]: row for row in rows}
        self.rivals = [arm for arm in self.arms if arm != BASELINE]
        latest = {(row["trial"], row["label"]): row for row in read_csv(ledger / "records.csv")}
        results = {place: json.loads(row["result"]) for place, row in latest.items() if row["status"] == FINISHED}
        measured = {(label.split("#")[0], name) for (_, label), result in results.items() for name in _scores(result)}
        self.names = {(task, m): f"{task}:{m}" if f"{task}:{m}" in further else task for task, m in measured}
        self.examples: dict[str, Any] = defaultdict(lambda: defaultdict(dict))
        self.values: dict[str, Any] = defaultdict(lambda: defaultdict(dict))
        sets = [result for (_, label), result in results.items() if label.startswith("evaluation_set")]
        self._read_examples(ledger / "examples", {each["questions"]: each["sequences"] for each in sets})
        shared = self.document["pretraining"].get("evaluation_sets", "shared") == "shared"
        self.with_loss = {arm for arm in self.arms if shared or arm == BASELINE or arm in self.examples[LOSS]}
        stopped = {row["trial"] for row in read_csv(ledger / "decisions.csv") if row["cleared"] != "true"}
        trials = self._rows_of_arms(ledger / "trials.csv")
        for trial in trials:
            if trial["name"] not in stopped:
                of_trial = {label: result for (name, label), result in results.items() if name == trial["name"]}
                for metric, values in self._of_trial(of_trial, trial["arm"]):
                    mean = float(np.mean(np.array(values, float)))  # None is NaN
                    if math.isfinite(mean):
                        self.values[metric][trial["arm"]][int(trial["seed"])] = mean
        self.pretrained = self._pretrained(trials, latest, results, stopped)
        of_none = {label: result for (trial, label), result in results.items() if not trial}
        self.below = [task for task in self.tasks if self._is_below(task, of_none)]
        self.exits = self._exits(trials, results, plateaus)
        self.stuck = {arm: {s for s, at in of.items() if at.tokens is None} for arm, of in self.exits.items()}
        for by_arm in (*self.values.values(), *self.examples.values()):
            for arm, stuck in self.stuck.items():
                by_arm[arm] = {seed: value for seed, value in by_arm[arm].items() if seed not in stuck}
        self._add_score()

    def _final_comparison(self, finals: Sequence[Row], plan: Row, winner: Sequence[str]) -> list[Row]:
        """Return the arms that the tables have after a search, under their own names, with the winner's components.

        They are about the objectives by which finalists were chosen; the design is the ablation of the winner.
        """
        (search,) = (design for design in self.designs if design.get("kind") == "search")
        objectives = plan.get("ranked_by") or search["objectives"]
        self.document["headline_metrics"] = [name for name in objectives if name in (LOSS, SCORE)]
        self.shown = {row["name"]: row["final_of"] for row in finals}
        self.labels = plan["labels"]
        components = dict.fromkeys(name for row in finals for name in json.loads(row["levels"] or "{}"))
        self.designs = [{"components": components}] if components else []
        every = {"levels": json.dumps(dict.fromkeys(components, True))}
        return [row | {"name": row["final_of"]} | (every if row["final_of"] in winner else {}) for row in finals]

    def _rows_of_arms(self, path: Path) -> list[Row]:
        """Return the rows of a file that are of an arm of the tables, under the name that it has there."""
        return [row | {"arm": self.shown[row["arm"]]} for row in read_csv(path) if row["arm"] in self.shown]

    def _exits(self, trials: Sequence[Row], results: Mapping[Any, Row], plateaus: Plateaus) -> Row:
        """Return where the seeds of every arm with a plateau left it."""
        found: dict[str, Any] = {arm: {} for arm in self.arms if arm in plateaus}
        curves: dict[tuple[str, str], dict[float, float]] = defaultdict(dict)
        for (trial, label), result in results.items():
            for name in ("train_curve", "held_out_curve") if label.startswith("pretrain@") else ():
                curves[trial, name] |= {at: loss for at, loss in result.get(name, ()) if math.isfinite(loss)}
        for trial in trials:
            name, level = plateaus.get(trial["arm"], ("", math.nan))
            if trial["arm"] in found and (exit_ := exit_of([*curves[trial["name"], name].items()], level)):
                found[trial["arm"]][int(trial["seed"])] = exit_
        return found

    def _pretrained(
        self, trials: Sequence[Row], latest: Mapping[Any, Row], results: Mapping[Any, Row], stopped: set[str]
    ) -> Row:
        """Return by arm and seed of each trial that ended its evaluations, and whether it finished."""
        found: dict[str, Any] = defaultdict(dict)
        diverged = {trial for (trial, _), row in latest.items() if row["status"] == "diverged"}
        for trial in trials:
            of_trial = {label: latest[name, label] for name, label in results if name == trial["name"]}
            rungs = [label for label in of_trial if label.startswith("pretrain@")]
            finished = of_trial.keys() >= {*self.labels} and not {trial["name"]} & (stopped | diverged)
            if finished or trial["name"] in stopped | diverged:
                curves = [results[trial["name"], rung].get("held_out_curve", ()) for rung in rungs]
                points = {at: loss for curve in curves for at, loss in curve if loss is not None}
                found[trial["arm"]][int(trial["seed"])] = Pretrained(points, finished)
        return found

    def few_learners(self, arms: Sequence[str]) -> bool:
        """Whether fewer than two seeds of an arm left its plateau, though others stayed."""
        return any(self.stuck.get(arm) and len(self.exits[arm]) - len(self.stuck[arm]) < 2 for arm in arms)

    def _read_examples(self, folder: Path, sequences: Mapping[int, int]) -> None:
        """Add the values of examples; `sequences`: the number of held-out sequences by that of predictions."""
        index = folder / "replicates.csv"
        by_seed: dict[tuple[Any, ...], list[Any]] = defaultdict(list)
        replicates = self._rows_of_arms(index) if index.is_file() else []
        arrays = {file: np.load(folder / file) for file in {row["file"] for row in replicates}}
        for row in replicates:
            task, _, metric = row["metric"].partition(":")
            values = arrays[row["file"]][int(row["row"])].astype(float)
            if task == LOSS:  # predictions of one sequence share its text
                values = values.reshape(sequences[values.size], -1).mean(axis=1)
            name, scale = self.names.get((task, metric), row["metric"]), POINTS if metric else 1.0
            by_seed[name, row["arm"], int(row["seed"])].append(scale * values)
        for (metric, arm, seed), each in by_seed.items():
            self.examples[metric][arm][seed] = np.mean(each, axis=0)

    def _of_trial(self, results: Mapping[str, Row], arm: str) -> Iterator[tuple[str, list[Any]]]:
        """Yield the values of a trial by metric, one per fine-tuning seed where all are there."""
        end = [label for label in self.labels if label.startswith("pretrain@")][-1]
        if arm in self.with_loss:
            yield LOSS, [results.get(end, {}).get(LOSS)]
        if heads := results.get("attention", {}).get("heads"):
            yield DIAGONAL, [sum(near for _, _, near, *_ in heads) / sum(far for _, _, _, far, *_ in heads)]
        for task in self.tasks:
            scores = [_scores(results.get(label, {})) for label in self.labels if label.split("#")[0] == task]
            for metric in set.intersection(*map(set, scores)) if scores else ():
                yield self.names[task, metric], [each[metric] for each in scores]

    def _is_below(self, task: str, results: Mapping[str, Row]) -> bool:
        """Whether the mean over all arms fails to exceed a reference: one-sided t, variance pooled over arms."""
        own = next((metric for (of, metric), name in self.names.items() if of == name == task), "")
        made = results.get(f"examples {task}", {})
        known = [made.get("chance"), *((made.get(name) or {}).get(own) for name in ("bag_of_words", "ngram"))]
        known += [scores.get(own) for scores in self._rules(made, task).values()]
        without = all(reference is None for reference in known)
        untrained = [_scores(r)[own] for label, r in results.items() if label.startswith(f"untrained {task}#")]
        arms = [[*by_seed.values()] for by_seed in self.values[task].values()]
        samples = [*arms, untrained] if untrained else arms
        degrees = sum(len(sample) - 1 for sample in samples)
        if not arms or not degrees or without:
            return bool(arms and degrees)
        variance = sum(float(np.var(sample)) * len(sample) for sample in samples) / degrees
        of_mean = sum(1 / len(arm) for arm in arms) / len(arms) ** 2
        compared = [(reference, of_mean) for reference in known if reference is not None]
        compared += [(np.mean(untrained), of_mean + 1 / len(untrained))] if untrained else []
        references, shares = np.reshape(compared, (-1, 2)).T
        errors = np.sqrt(np.maximum(variance * shares, sys.float_info.min))  # without a spread any excess is one
        t = (np.mean([np.mean(arm) for arm in arms]) - references) / errors
        return not (stats.t.sf(t, degrees) <= ALPHA).all()

    def _rules(self, made: Row, task: str) -> Row:
        """Return the scores of the rules of extractive questions, from the examples or measured afterwards."""
        added: Row = next((each["extractive"] for each in self.added if each["task"] == task), {})
        return {**(made.get("extractive") or added)}

    def _add_score(self) -> None:
        """Add the mean over the tasks that are not below a reference, and name the metrics that tables have."""
        self.scored = [task for task in self.tasks if task not in self.below]
        for arm in self.arms if self.scored else ():
            of_arm = [self.values[task][arm] for task in self.scored]
            for seed in set.intersection(*map(set, of_arm)):
                self.values[SCORE][arm][seed] = math.fsum(values[seed] for values in of_arm) / len(of_arm)
        names = sorted({*self.tasks, *self.values} - {LOSS, SCORE, DIAGONAL})
        with_loss = self.with_loss.intersection(self.rivals) or not self.rivals
        score = [SCORE] if len(self.tasks) > 1 and self.scored else []
        self.metrics = [*([LOSS] if with_loss else []), *score, *names]
        declared = [self.on_single_task(name) for name in self.document.get("headline_metrics", [LOSS, SCORE])]
        if not self.scored and any(row.get("final_of") for row in self.arms.values()):
            declared.append(LOSS)  # in place of a score of no task
        self.headlines = [name for name in self.metrics if name in declared and name not in self.below]

    def on_single_task(self, metric: str) -> str:
        """Return the task of a study with a single one in place of the score."""
        return self.tasks[0] if metric == SCORE and len(self.tasks) == 1 else metric

    def margins(self, declared: Mapping[str, float]) -> dict[str, float]:
        """Return margins by metric; a single task has the score's unless it has its own."""
        return {self.on_single_task(name): value for name, value in declared.items()} | {**declared}

    def contrast(self, weights: Mapping[str, float], metric: str) -> Estimate:
        """Return a weighted sum of arms on a metric, over the examples of which the metric is the mean."""
        parts = self.scored if metric == SCORE else [metric]
        by_arm = [self.examples[part] for part in parts if part in self.examples]
        sets = [[{seed: each / len(parts) for seed, each in of[arm].items()} for arm in weights] for of in by_arm]
        samples = [self.values[metric][arm] for arm in weights]
        return contrast(samples, [*weights.values()], sets, self.document.get("comparison") == "paired")

    def difference(self, metric: str, arm: str, other: str = BASELINE) -> Estimate:
        """Return arm minus other on a metric."""
        return self.contrast({arm: 1.0, other: -1.0}, metric)


def _scores(result: Row) -> Row:
    """Return a task's scores on dev by metric, and on a further split by metric and split."""
    by_split = {name.removeprefix("scores"): scores for name, scores in result.items() if name.startswith("scores")}
    return {f"{metric}{split}": value for split, scores in by_split.items() for metric, value in scores.items()}

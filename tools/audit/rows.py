"""Exported rows: the values of every arm on every metric by pretraining seed, and those of single examples."""

import csv
import gzip
import io
import json
import math
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from tools.audit.inference import ALPHA, BASELINE, Estimate, contrast

LOSS, SCORE, DIAGONAL, FINISHED = "held_out_loss", "score", "attention_diagonal", "finished"
APART = ("tuning_trial_of", "tuned_from")  # columns of arms that are no rows of the main table
Row = dict[str, Any]
Plateaus = Mapping[str, tuple[str, int]]  # by arm the curve that has a plateau, and how many seeds left it
FEWEST_POINTS = 20  # of a curve that may have a plateau

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


class Study:
    """The arms, metrics and values of one published experiment, each arm at the recipe that all share, or at its own.

    `arms` has the row of every arm, the baseline first. `values` has by metric, arm and seed the mean over
    fine-tuning seeds, `examples` that of every example. `further`: published names of metrics, where the one that
    decides on a task has the task's name and another is called `task:metric`. `plateaus`: of each arm that has
    one; after the rule of tasks below a reference, seeds that stayed on it have no values.
    """

    def __init__(self, ledger: Path, further: set[str], plateaus: Plateaus, *, at_own: bool = False) -> None:
        facts = read_facts(ledger)
        self.document, self.labels = facts["document"], facts["labels"]
        self.added: list[Row] = facts.get("references") or []
        self.paper: Row = self.document.get("paper") or {}
        self.tasks: list[str] = sorted(self.document["fine_tuning"]["tasks"])
        designs = self.document.get("designs", self.document.get("design")) or []
        self.designs: list[Row] = designs if isinstance(designs, list) else [designs]
        of_all = read_csv(ledger / "arms.csv")
        own = {row["tuned_from"]: row["name"] for row in of_all if at_own and row.get("tuned_from")}
        rows = [row for row in of_all if not any(row.get(name) for name in APART)]
        self.shown = {own.get(row["name"], row["name"]): row["name"] for row in rows}
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
        of_trials: dict[str, dict[str, Row]] = defaultdict(dict)
        for (name, label), result in results.items():
            of_trials[name][label] = result
        for trial in (trial for trial in trials if trial["name"] not in stopped):
            for metric, values in self._of_trial(of_trials[trial["name"]], trial["arm"]):
                if math.isfinite(mean := float(np.mean(np.array(values, float)))):  # None is NaN
                    self.values[metric][trial["arm"]][int(trial["seed"])] = mean
        self.below = [task for task in self.tasks if self._is_below(task, of_trials[""])]
        ended = stopped | {trial for (trial, _), row in latest.items() if row["status"] == "diverged"}
        ended |= {name for name, of in of_trials.items() if {*self.labels} <= of.keys()}
        self._leave_out_the_stuck(trials, of_trials, plateaus)
        self.curves: dict[str, dict[int, dict[float, float]]] = defaultdict(dict)
        for trial in (trial for trial in trials if trial["name"] in ended):
            self.curves[trial["arm"]][int(trial["seed"])] = _curve(of_trials[trial["name"]], "held_out_curve")
        self._add_score()

    def _leave_out_the_stuck(self, trials: Sequence[Row], of_trials: Row, plateaus: Plateaus) -> None:
        """Take out the values of seeds on a plateau: those of an arm with the highest held-out loss at the end."""
        self.counts: dict[str, tuple[int, int]] = {}
        self.stuck: dict[str, set[int]] = {}
        for arm in (arm for arm in self.arms if arm in plateaus):
            name, left = plateaus[arm]
            of_arm = {int(each["seed"]): of_trials[each["name"]] for each in trials if each["arm"] == arm}
            long = {seed: of for seed, of in of_arm.items() if len(_curve(of, name)) >= FEWEST_POINTS}
            ends = {max(_curve(of, "held_out_curve").items())[1]: seed for seed, of in long.items()}
            self.counts[arm] = min(left, len(ends)), len(ends)
            self.stuck[arm] = {ends[end] for end in sorted(ends)[left:]}
            for by_arm in (*self.values.values(), *self.examples.values()):
                by_arm[arm] = {seed: value for seed, value in by_arm[arm].items() if seed not in self.stuck[arm]}

    def _final_comparison(self, finals: Sequence[Row], plan: Row, winner: Sequence[str]) -> list[Row]:
        """Return the arms of the tables after a search under their own names, with the winner's components."""
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

    def cannot_judge(self, metric: str, *arms: str) -> bool:
        """Whether no arm exceeds the references, or fewer than two seeds of an arm left its plateau, others not."""
        task = metric.partition(":")[0]
        return task in self.below or (task == SCORE and not self.scored) or self.few_learn(*arms)

    def few_learn(self, *arms: str) -> bool:
        """Whether fewer than two seeds of an arm left its plateau, others not."""
        return any(self.stuck.get(arm) and self.counts[arm][0] < 2 for arm in arms)

    def asks_otherwise(self, metric: str, *arms: str) -> bool:
        """Whether the metric is the held-out loss and the arms are trained on different objectives."""
        asked = [json.loads(self.arms[arm]["candidate"]).get("objective") for arm in arms if arm in self.arms]
        return metric == LOSS and any(each != asked[0] for each in asked)

    def _read_examples(self, folder: Path, sequences: Mapping[int, int]) -> None:
        """Add the values of examples; `sequences`: the number of held-out sequences by that of predictions."""
        index = folder / "replicates.csv"
        by_seed: dict[tuple[Any, ...], list[Any]] = defaultdict(list)
        replicates = self._rows_of_arms(index) if index.is_file() else []
        contents = {file: (folder / file).read_bytes() for file in {row["file"] for row in replicates}}
        arrays = {file: np.load(io.BytesIO(gzip.decompress(content))) for file, content in contents.items()}
        for row in replicates:
            task, _, metric = row["metric"].partition(":")
            values = arrays[row["file"]][int(row["row"])].astype(float)
            if task == LOSS:  # predictions of one sequence share its text
                values = values.reshape(sequences[values.size], -1).mean(axis=1)
            name, scale = self.names.get((task, metric), row["metric"]), 100.0 if metric else 1.0
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
        added = [each["extractive"] for each in self.added if each["task"] == task]
        known += [scores.get(own) for scores in (made.get("extractive") or (added or [{}])[0]).values()]
        known = [reference for reference in known if reference is not None]
        untrained = [_scores(r)[own] for label, r in results.items() if label.startswith(f"untrained {task}#")]
        arms = [[*by_seed.values()] for by_seed in self.values[task].values()]
        samples = [*arms, untrained] if untrained else arms
        degrees = sum(len(sample) - 1 for sample in samples)
        if not arms or not degrees or not known:
            return bool(arms and degrees)
        variance = sum(float(np.var(sample)) * len(sample) for sample in samples) / degrees
        of_mean = sum(1 / len(arm) for arm in arms) / len(arms) ** 2
        compared = [(reference, of_mean) for reference in known]
        compared += [(np.mean(untrained), of_mean + 1 / len(untrained))] if untrained else []
        references, shares = np.array(compared, float).T
        t = (np.mean([np.mean(arm) for arm in arms]) - references) / np.sqrt(np.maximum(variance * shares, 1e-300))
        return not (stats.t.sf(t, degrees) <= ALPHA).all()

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
        """Return the only task in place of the score."""
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
        return contrast(samples, [*weights.values()], sets)

    def difference(self, metric: str, arm: str, other: str = BASELINE) -> Estimate:
        """Return arm minus other on a metric."""
        return self.contrast({arm: 1.0, other: -1.0}, metric)


def _curve(results: Mapping[str, Row], name: str) -> dict[float, float]:
    points = [point for label, of in results.items() if label.startswith("pretrain@") for point in of.get(name, ())]
    return {at: loss for at, loss in points if loss is not None and math.isfinite(loss)}


def _scores(result: Row) -> Row:
    by_split = {name.removeprefix("scores"): scores for name, scores in result.items() if name.startswith("scores")}
    return {f"{metric}{split}": value for split, scores in by_split.items() for metric, value in scores.items()}

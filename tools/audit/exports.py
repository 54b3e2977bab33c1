"""Exported ledgers: the rows beside a published report, and each trial's value on every metric."""

import csv
import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

BASELINE, LOSS, SCORE, DIAGONAL = "baseline", "held_out_loss", "score", "attention_diagonal"
PRETRAIN, FINISHED, DIVERGED, STOPPED = "pretrain", "finished", "diverged", "stopped"
ZERO_COST = "zero_cost"
SCORED = ("fine_tune", "linear_probe", "minimal_pairs")
"""Stages whose results have scores of a task."""
Row = dict[str, Any]
Model = tuple[str, int, str]
"""Arm, pretraining seed and fine-tuning seed; the last is empty before fine-tuning."""

csv.field_size_limit(sys.maxsize)


def scores_of(result: Row) -> Row:
    """Return a task's scores on dev by metric, and on each further split by metric and split: `bleu test`."""
    further = {key.removeprefix("scores "): found for key, found in result.items() if key.startswith("scores ")}
    of_splits = {f"{metric} {split}": value for split, found in further.items() for metric, value in found.items()}
    return {**result["scores"], **of_splits}


def read_csv(path: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV file; cells that were escaped against spreadsheets have their own text again."""
    with path.open(encoding="utf-8", newline="") as lines:
        return [{name: cell.removeprefix("'") for name, cell in row.items()} for row in csv.DictReader(lines)]


@dataclass(frozen=True)
class Record:
    """The result of one stage; without a trial it is shared by all."""

    sequence: int
    trial: str
    stage: str
    label: str
    status: str
    result: Row

    @property
    def tokens(self) -> int | None:
        """The tokens of a label of pretraining, `pretrain@6000000`, or of a proxy before it, `zero_cost@0`."""
        kind, _, tokens = self.label.partition("@")
        return int(tokens) if kind in (PRETRAIN, ZERO_COST) and tokens else None


@dataclass(frozen=True)
class Decision:
    """What a hurdle decided on a trial."""

    level: int
    cleared: bool
    value: float | None
    threshold: float | None
    at_end_of_budget: bool = False
    """Whether it stopped a trial that waited when the budget of a policy ended."""


@dataclass(frozen=True)
class Arm:
    """One arm with its change from the baseline."""

    name: str
    candidate: Row
    changes: Row
    levels: Row
    costs: dict[str, float]
    copy: str = ""
    """Its copy at the baseline's budget, itself if it has that budget; empty where no budgets are matched."""


@dataclass(frozen=True)
class Trial:
    """An arm at one pretraining seed, with the latest record of each of its stages."""

    name: str
    arm: str
    seed: int
    records: tuple[Record, ...]
    decisions: tuple[Decision, ...]
    labels: tuple[str, ...]

    @cached_property
    def stopped_by(self) -> Decision | None:
        """The decision that stopped it."""
        return next((decision for decision in self.decisions if not decision.cleared), None)

    @cached_property
    def audit(self) -> tuple[Record, ...]:
        """What was trained after a hurdle stopped it."""
        if self.stopped_by is None:
            return ()
        rungs = sorted({record.tokens for record in self.records if record.tokens is not None})
        end = rungs[self.stopped_by.level] if self.stopped_by.level < len(rungs) else math.inf
        return tuple(record for record in self.records if record.tokens is None or record.tokens > end)

    @cached_property
    def counted(self) -> tuple[Record, ...]:
        """The records without those of an audit."""
        return tuple(record for record in self.records if record not in self.audit)

    @cached_property
    def status(self) -> str:
        """Finished, diverged, stopped or open."""
        if any(record.status == DIVERGED for record in self.counted):
            return DIVERGED
        if self.stopped_by is not None:
            return STOPPED
        done = {record.label for record in self.counted if record.status == FINISHED}
        return FINISHED if done >= set(self.labels) else "open"

    def finished(self, stage: str) -> list[Record]:
        """Return the finished records of one kind of stage, in the order of the ledger."""
        return [record for record in self.counted if record.stage == stage and record.status == FINISHED]

    @property
    def scored(self) -> dict[str, Row]:
        """The results of finished stages that score a task, by label."""
        return {each.label: each.result for stage in SCORED for each in self.finished(stage)}

    @property
    def final_loss(self) -> float | None:
        """The held-out loss at the end of the whole budget."""
        marks = [label for label in self.labels if label.startswith(f"{PRETRAIN}@")]
        done = self.finished(PRETRAIN)
        return finite(done[-1].result.get(LOSS)) if done and done[-1].label == marks[-1] else None

    @property
    def held_out(self) -> dict[int, float]:
        """The held-out loss by tokens."""
        points = [point for record in self.finished(PRETRAIN) for point in record.result["held_out_curve"]]
        return {int(at): float(loss) for at, loss in points if math.isfinite(loss)}


def finite(value: object) -> float | None:
    """Return a finite number, else None."""
    real = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if real and math.isfinite(value) else None  # type: ignore[arg-type]


@dataclass(frozen=True)
class Export:
    """One published folder with a ledger."""

    folder: Path
    facts: dict[str, Any]
    arms: tuple[Arm, ...]
    """The baseline first."""
    trials: tuple[Trial, ...]
    shared: tuple[Record, ...]
    tables: dict[str, list[dict[str, str]]] = field(default_factory=dict)
    """The published tables by name."""
    names: Mapping[str, str] = field(default_factory=dict)
    """The arms' names in the report by those in the ledger."""

    @property
    def document(self) -> Row:
        """The experiment as it was declared, the latest version."""
        amended = [name for name in self.facts if name.startswith("amendment ")]
        last = max(amended, key=lambda name: int(name.split()[1]), default=None)
        return dict(self.facts["document"] if last is None else self.facts[last]["document"])

    @cached_property
    def designs(self) -> list[Row]:
        """The designs of the experiment."""
        declared = self.document.get("designs", self.document.get("design", []))
        return declared if isinstance(declared, list) else [declared or {}]

    @property
    def is_search(self) -> bool:
        """Whether candidates are proposed from the results of others."""
        return any(design.get("kind") == "search" for design in self.designs)

    def of_arm(self, arm: str) -> list[Trial]:
        """Return the trials of an arm by seed."""
        return sorted((trial for trial in self.trials if trial.arm == arm), key=lambda trial: trial.seed)

    def shared_results(self, stage: str) -> list[Row]:
        """Return the results of shared stages of one kind."""
        return [record.result for record in self.shared if record.stage == stage and record.status == FINISHED]

    @cached_property
    def example_values(self) -> dict[str, dict[Model, np.ndarray]]:
        """The values of single examples by metric and model, where they were exported."""
        index = self.folder / "ledger" / "examples" / "replicates.csv"
        found: dict[str, dict[Model, np.ndarray]] = {}
        for row in read_csv(index) if index.is_file() else ():
            if row["arm"] in self.names:
                values = np.load(index.parent / row["file"], allow_pickle=False)[int(row["row"])]
                model = (self.names[row["arm"]], int(row["seed"]), row["fine_tuning_seed"])
                found.setdefault(row["metric"], {})[model] = values.astype(np.float32).astype(np.float64)
        return found

    @cached_property
    def example_losses(self) -> dict[str, dict[int, np.ndarray]]:
        """The losses of held-out predictions by arm and seed, where they were exported."""
        found: dict[str, dict[int, np.ndarray]] = {}
        for (arm, seed, _), values in self.example_values.get(LOSS, {}).items():
            found.setdefault(arm, {})[seed] = values
        return found


def at_shared_recipe(row: Mapping[str, str]) -> str:
    """Return an arm's name; nothing for a tuning trial, and for an arm at a recipe that tuning selected."""
    return "" if row["tuning_trial_of"] or row.get("tuned_from") else row["name"]


def read_export(
    folder: Path, name_of: Callable[[Mapping[str, str]], str] = at_shared_recipe, labels: Sequence[str] = ()
) -> Export:
    """Return the rows of a published folder: of the arms that have a name in the report, given their rows.

    `labels`: the stages of their trials, where they are not those of the comparison.
    """
    ledger = folder / "ledger"
    facts = {row["name"]: json.loads(row["content"]) for row in read_csv(ledger / "facts.csv")}
    records = _latest(map(_record, read_csv(ledger / "records.csv")))
    decisions = list(_decisions(read_csv(ledger / "decisions.csv"), facts["document"]))
    rows = [{**row, "name": name_of(row), "row": row["name"]} for row in read_csv(ledger / "arms.csv")]
    rows = [row for row in rows if row["name"]]
    rows.sort(key=lambda row: (row["name"] != BASELINE, int(row["position"]), row["name"]))
    names = {row["row"]: row["name"] for row in rows}
    trials = tuple(
        Trial(
            name=row["name"],
            arm=names[row["arm"]],
            seed=int(row["seed"]),
            records=tuple(record for record in records if record.trial == row["name"]),
            decisions=tuple(decision for trial, decision in decisions if trial == row["name"]),
            labels=tuple(labels or facts.get("labels", ())),
        )
        for row in read_csv(ledger / "trials.csv")
        if row["arm"] in names
    )
    shared = tuple(record for record in records if not record.trial)
    tables = {path.stem: read_csv(path) for path in sorted(folder.glob("tables/*.csv"))}
    pruned = tables.get("pruned_architectures", [])
    return Export(folder, facts, tuple(_arm(row, pruned) for row in rows), trials, shared, tables, names)


def _record(row: dict[str, str]) -> Record:
    result = json.loads(row["result"]) if row["result"] else {}
    return Record(int(row["sequence"]), row["trial"], row["stage"], row["label"], row["status"], result)


def _latest(records: Iterator[Record]) -> Sequence[Record]:
    by_label = {(record.trial, record.label): record for record in records}
    return sorted(by_label.values(), key=lambda record: record.sequence)


def _decisions(rows: Sequence[Row], document: Row) -> Iterator[tuple[str, Decision]]:
    """Yield each decision with its trial, in the ledger's order.

    Under a policy a stop without a threshold is one by the end of the budget, but for the trials that set a hurdle of
    `progressive_hurdles`, which come before the first decision against that hurdle.
    """
    declared: Any = document.get("designs", document.get("design", []))
    policies = [each.get("policy") for each in (declared if isinstance(declared, list) else [declared])]
    policy = next((each for each in policies if each is not None), None)
    judged = set()
    for row in rows:
        level, cleared = int(row["level"]), row["cleared"] == "true"
        value, threshold = (float(row[name]) if row[name] else None for name in ("value", "threshold"))
        if threshold is not None:
            judged.add(level)
        open_end = policy is not None and (policy != "progressive_hurdles" or level in judged)
        waited = open_end and not cleared and threshold is None and value is not None
        yield row["trial"], Decision(level, cleared, value, threshold, waited)


def _arm(row: dict[str, str], pruned: Sequence[Row]) -> Arm:
    """Return an arm; the costs of a pruned one are the means over its trials after pruning."""
    candidate, changes, levels = (json.loads(row[name] or "{}") for name in ("candidate", "changes", "levels"))
    costs = {name: float(row[name]) for name in ("parameters", "forward_flops", "train_flops") if row[name]}
    if trials := [trial for trial in pruned if trial["arm"] == row["name"]]:
        costs = {name: round(sum(float(trial[name]) for trial in trials) / len(trials)) for name in costs}
    return Arm(row["name"], candidate, changes, levels, costs, row.get("matched_arm", ""))

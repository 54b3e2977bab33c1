"""A published ledger with tuning added: every arm at three learning rates, and the arms that leave the shared one."""

import hashlib
import json
from collections.abc import Callable, Mapping

import numpy as np

from ledger.tuning_selection import Choice, chosen, mean_over_seeds
from tests.factories.altered_ledgers import RIVALS, Ledger

RATE, SHARED = "recipe.peak_learning_rate", 0.003
POINTS = {"shared": SHARED, "peak_learning_rate=0.001": 0.001, "peak_learning_rate=0.01": 0.01}
SEEDS = (101, 102)
TOKENS = 2_000_000
LOSSES: Mapping[str, tuple[tuple[float, float], ...]] = {
    "baseline": ((4.9, 5.0), (4.7, 4.6), (4.8, 4.8)),
    "bottleneck": ((4.5, 4.5), (4.5, 4.5), (4.9, 5.1)),  # equal: the shared recipe
    "dynamic": ((4.0, 4.1), (4.2, 4.2), (3.9, np.nan)),  # a diverged seed
    "span_dynamic": ((4.0, 4.1), (4.2, 4.2), (3.8, 3.9)),
}
"""By arm and point, of two seeds; NaN of one that diverged."""
PRIMARY = {"docs_acceptability": "matthews", "docs_answer": "f1"}
Row = dict[str, str]


def tuned(metric: str) -> Callable[[Ledger], None]:
    """Return what adds tuning by a metric: its trials, the selection, and the trials at the selected recipes."""

    def alter(ledger: Ledger) -> None:
        labels = [f"pretrain@{TOKENS}"]
        labels += [label for label in ledger.labels if "pretrain" not in label] if metric == "score" else []
        changes = [{RATE: rate} if number else {} for number, rate in enumerate(POINTS.values())]
        plan = {"points": changes, "names": [*POINTS], "shared": {RATE: SHARED}, "ranges": {}, "sampler": "grid"}
        plan |= {"seeds": [*SEEDS], "tokens": TOKENS, "metric": metric, "labels": labels}
        choices = [_tried(ledger, arm, metric) for arm in ("baseline", *RIVALS)]
        for choice in choices:
            if choice.point:
                _at_own_recipe(ledger, choice)
        for name, content in (("tuning", plan), ("own_recipes", [choice.as_json for choice in choices])):
            ledger.rows["facts"].append({"name": name, "content": json.dumps(content)})

    return alter


def _tried(ledger: Ledger, arm: str, metric: str) -> Choice:
    """Add the tuning trials of an arm; return its choice."""
    values = []
    for name, losses in zip(POINTS, LOSSES[arm], strict=True):
        row = f"{arm}@{name}"
        _add_arm(ledger, arm, row, "tuning_trial_of")
        of_point = [
            _add_trial(ledger, arm, f"{row}/{seed}", seed, loss, metric)
            for seed, loss in zip(SEEDS, losses, strict=True)
        ]
        values.append(mean_over_seeds(of_point))
    sizes = [(int(point > 0), abs(np.log(rate / SHARED))) for point, rate in enumerate(POINTS.values())]
    point = chosen(values, sizes, larger_is_better=metric == "score")
    return Choice(arm, point, tuple(values), f"{arm}@own" if point else arm)


def _add_arm(ledger: Ledger, arm: str, name: str, relation: str) -> None:
    like = next(row for row in ledger.rows["arms"] if row["name"] == arm)
    ledger.rows["arms"].append({**like, "name": name, "position": str(len(ledger.rows["arms"])), relation: arm})


def _add_trial(ledger: Ledger, arm: str, trial: str, seed: int, loss: float, metric: str) -> float | None:
    """Add a trial like the arm's first with another loss, and scores that fall with it; return its value."""
    ledger.rows["trials"].append({"name": trial, "arm": trial.rpartition("/")[0], "seed": str(seed), "cohort": ""})
    copied = [row for row in ledger.rows["records"] if row["trial"] == f"{arm}/1"]
    for row in copied:
        result = json.loads(row["result"])
        if row["stage"] == "pretrain":
            lost = bool(np.isnan(loss))
            curve = {name: result[name] for name in ("held_out_curve", "train_curve")} | {"tokens": TOKENS}
            result = {**curve, "loss": "nan"} if lost else {**result, "tokens": TOKENS, "held_out_loss": loss}
            status = "diverged" if lost else "finished"
            _add_record(ledger, {**row, "trial": trial, "label": f"pretrain@{TOKENS}", "status": status}, result)
        elif row["stage"] == "fine_tune" and metric == "score" and not np.isnan(loss):
            result["scores"] = {name: score - 3 * loss for name, score in result["scores"].items()}
            _add_record(ledger, {**row, "trial": trial}, result)
    if np.isnan(loss):
        return None
    return loss if metric == "held_out_loss" else _score(ledger, trial)


def _score(ledger: Ledger, trial: str) -> float:
    """Return the mean over tasks of their primary metric."""
    by_task: dict[str, list[float]] = {}
    for row in ledger.of_stage("fine_tune"):
        result = json.loads(row["result"])
        if row["trial"] == trial:
            by_task.setdefault(result["task"], []).append(result["scores"][PRIMARY[result["task"]]])
    return float(np.mean([np.mean(values) for values in by_task.values()]))


def _add_record(ledger: Ledger, row: Row, result: object) -> None:
    number = len(ledger.rows["records"])
    own = {"sequence": str(10**7 + number), "key": hashlib.sha256(number.to_bytes(4, "big")).hexdigest()}
    ledger.rows["records"].append({**row, **own, "result": json.dumps(result)})


def _at_own_recipe(ledger: Ledger, choice: Choice) -> None:
    """Add the arm at its own recipe, whose trials are the arm's with other values."""
    random = np.random.default_rng(11)
    _add_arm(ledger, choice.arm, choice.own, "tuned_from")
    for trial in [row for row in ledger.rows["trials"] if row["arm"] == choice.arm]:
        name = f"{choice.own}/{trial['seed']}"
        ledger.rows["trials"].append({**trial, "name": name, "arm": choice.own})
        for row in [row for row in ledger.rows["records"] if row["trial"] == trial["name"]]:
            result = json.loads(row["result"])
            if row["stage"] == "pretrain":
                result["held_out_loss"] -= 0.1 + random.normal(0, 0.05)
            if row["stage"] == "fine_tune":
                result["scores"] = {name: score + random.normal(1, 1) for name, score in result["scores"].items()}
            _add_record(ledger, {**row, "trial": name}, result)

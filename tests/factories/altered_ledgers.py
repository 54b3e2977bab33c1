"""A published ledger's rows, and what alters them: designs, seeds, tasks, losses and scores of single examples."""

import csv
import gzip
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

RIVALS = ("bottleneck", "dynamic", "span_dynamic")
Rows = list[dict[str, str]]


class Ledger:
    """The rows of an export that a variant alters."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "ledger"
        self.rows: dict[str, Rows] = {path.stem: self._read(path) for path in self.folder.glob("*.csv")}
        self.facts = {row["name"]: row for row in self.rows["facts"]}
        self.document: dict[str, Any] = json.loads(self.facts["document"]["content"])
        self.with_other_loss: tuple[str, ...] = ()
        self.labels: list[str] = json.loads(self.facts["labels"]["content"])

    @staticmethod
    def _read(path: Path) -> Rows:
        with path.open(newline="", encoding="utf-8") as lines:
            return list(csv.DictReader(lines))

    def of_stage(self, stage: str) -> Rows:
        return [row for row in self.rows["records"] if row["stage"] == stage]

    def write(self) -> None:
        self.facts["document"]["content"] = json.dumps(self.document)
        self.facts["labels"]["content"] = json.dumps(self.labels)
        for name, rows in self.rows.items():
            if rows:
                with (self.folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as lines:
                    writer = csv.DictWriter(lines, [*rows[0]], lineterminator="\n")
                    writer.writeheader()
                    writer.writerows(rows)
        files = [path for path in self.folder.rglob("*.*") if path.name != "export.json"]
        sha256 = {str(path.relative_to(self.folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
        (self.folder / "export.json").write_text(json.dumps({"format": 1, "sha256": sha256}), encoding="utf-8")


def margins(ledger: Ledger) -> None:
    ledger.document["equivalence_margin"] = {"held_out_loss": 0.5, "score": 8.0, "docs_answer": 20.0}


def claims(ledger: Ledger) -> None:
    ledger.document["claims"] = [
        "held_out_loss(dynamic) < held_out_loss(bottleneck) by 0.1",
        "held_out_loss(dynamic) ~ held_out_loss(span_dynamic) within 0.2",
        "score(dynamic) > score(baseline) by 0.5",
        "docs_answer(span_dynamic) < docs_answer(bottleneck)",
        "docs_acceptability(span_dynamic) > docs_acceptability(bottleneck)",  # below a reference
    ]


def metrics_of_the_paper(ledger: Ledger) -> None:
    ledger.document["paper"] |= {"metrics": ["score", "docs_answer"]}


def score_alone(ledger: Ledger) -> None:
    ledger.document["headline_metrics"] = ["score"]


def unequal_seeds(ledger: Ledger) -> None:
    gone = {"dynamic/3", "bottleneck/1"}
    ledger.rows["trials"] = [row for row in ledger.rows["trials"] if row["name"] not in gone]
    ledger.rows["records"] = [row for row in ledger.rows["records"] if row["trial"] not in gone]


def diverged_seeds(ledger: Ledger) -> None:
    for row in ledger.of_stage("pretrain"):
        if row["trial"] in ("dynamic/3", "baseline/1"):
            result = json.loads(row["result"])
            kept = {name: result[name] for name in ("held_out_curve", "train_curve", "tokens")}
            row |= {"status": "diverged", "result": json.dumps({**kept, "loss": "nan"})}
    later = {
        ("dynamic/3", "fine_tune"),
        ("baseline/1", "fine_tune"),
        ("dynamic/3", "attention"),
        ("baseline/1", "attention"),
    }
    ledger.rows["records"] = [row for row in ledger.rows["records"] if (row["trial"], row["stage"]) not in later]


def another_fine_tuning_seed(ledger: Ledger) -> None:
    random, sequence = np.random.default_rng(1), len(ledger.rows["records"])
    seed = max(ledger.document["fine_tuning"]["seeds"]) + 1
    ledger.document["fine_tuning"]["seeds"].append(seed)
    ledger.labels += [label.replace("#1", f"#{seed}") for label in ledger.labels if "#1" in label]
    first = [row for row in ledger.of_stage("fine_tune") if row["label"].endswith("#1")]
    for number, row in enumerate(first, start=1):
        result = json.loads(row["result"]) | {"seed": seed}
        result["scores"] = {name: score + random.normal(0, 2) for name, score in result["scores"].items()}
        own = {"sequence": str(10 * sequence + number), "key": hashlib.sha256(number.to_bytes(2, "big")).hexdigest()}
        label = row["label"].replace("#1", f"#{seed}")
        ledger.rows["records"].append({**row, **own, "label": label, "result": json.dumps(result)})


def untrained_encoders(ledger: Ledger) -> None:
    random = np.random.default_rng(7)
    rows = [row for row in ledger.of_stage("fine_tune") if row["trial"] == "baseline/1"]
    ledger.document["fine_tuning"]["untrained_seeds"] = [1, 2]
    for number in range(2 * len(rows)):
        row, seed = rows[number // 2], number % 2 + 1
        result = json.loads(row["result"])
        result["scores"] = {name: 0.8 * score + random.normal(0, 1) for name, score in result["scores"].items()}
        own = {"sequence": str(10**6 + number), "key": hashlib.sha256(bytes([100 + number])).hexdigest(), "trial": ""}
        label = f"untrained {result['task']}#{seed}"
        ledger.rows["records"].append({**row, **own, "label": label, "result": json.dumps({**result, "seed": seed})})


def add_examples(ledger: Ledger, metric: str, values: np.ndarray, models: list[str]) -> None:
    """Add the values of single examples of a metric, whose models are `arm,seed,fine_tuning_seed`."""
    folder = ledger.folder / "examples"
    folder.mkdir(exist_ok=True)
    name, index = f"{metric.replace(':', '.')}.npy.gz", folder / "replicates.csv"
    with gzip.open(folder / name, "wb") as content:
        np.save(content, values)
    known = index.read_text("utf-8") if index.is_file() else "metric,file,row,arm,seed,fine_tuning_seed\n"
    lines = [f"{metric},{name},{number},{model}\n" for number, model in enumerate(models)]
    index.write_text("".join([known, *lines]), "utf-8")


def kept_losses(ledger: Ledger) -> None:
    random = np.random.default_rng(2)
    (sizes,) = (json.loads(row["result"]) for row in ledger.of_stage("evaluation_set"))
    of_example = random.gamma(2, 1.5, sizes["questions"])
    values, models = [], []
    finished = [row for row in ledger.of_stage("pretrain") if row["status"] == "finished"]
    compared = [row for row in finished if row["trial"][:-2] not in ledger.with_other_loss]
    for row in compared:
        losses = of_example + random.normal(0, 0.5, len(of_example))
        values.append(np.abs(losses - losses.mean() + json.loads(row["result"])["held_out_loss"]))
        arm, _, seed = row["trial"].rpartition("/")
        models.append(f"{arm},{seed},")
    add_examples(ledger, "held_out_loss", np.array(values).astype("<f2"), models)


def kept_answers(ledger: Ledger) -> None:
    random, of_example = np.random.default_rng(3), np.random.default_rng(4).random(300)
    models, effects = [], {"baseline": 0.0, "bottleneck": -0.2}
    for row in ledger.of_stage("fine_tune"):
        arm, _, seed = row["trial"].rpartition("/")
        models += (
            [f"{arm},{seed},{json.loads(row['result'])['seed']}"] if row["label"].startswith("docs_answer") else []
        )
    quality = np.array([[0.6 + effects.get(model.partition(",")[0], 0.2)] for model in models])
    shares = np.clip(of_example * quality + random.normal(0, 0.1, (len(models), 300)), 0, 1)
    add_examples(ledger, "docs_answer:f1", shares.astype("<f2"), models)
    answers = (random.random((len(models), 300)) < quality * of_example + 0.1).astype(np.uint8)
    add_examples(ledger, "docs_answer:exact_match", answers, models)


def other_losses(*arms: str) -> Callable[[Ledger], None]:
    """Return what gives these arms an objective with another held-out loss, which is compared with no other."""

    def alter(ledger: Ledger) -> None:
        ledger.document["pretraining"]["evaluation_sets"] = "by_objective"
        for row in ledger.rows["arms"]:
            if row["name"] in arms:
                objective = {"kind": "replaced_token_detection"}
                row["candidate"] = json.dumps({**json.loads(row["candidate"]), "objective": objective})
        ledger.with_other_loss = arms

    return alter

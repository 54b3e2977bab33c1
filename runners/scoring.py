"""Turn a fine-tuned model's predictions into scores, in the driver: trial workers need no metrics library."""

import json

from runners.measured import primary_metric
from runners.records import Record, Status
from runners.stages.declarations import FineTuneStage
from runners.stages.stage import Stage
from runners.store import Outcome, StageStore
from search_space.declaration import JsonValue
from tasks.downstream import find_task
from tasks.downstream.encoding import load_examples
from tasks.downstream.scoring import score

PREDICTIONS = "predictions.json"


def scored(stage: Stage, outcome: Outcome, store: StageStore) -> dict[str, JsonValue]:
    """Return what the ledger keeps of a stage: its result, for a fine-tuning stage with the task's scores."""
    told = stage.declaration
    if not isinstance(told, FineTuneStage) or outcome.status is not Status.FINISHED:
        return dict(outcome.result)
    task = find_task(told.task)
    predictions = json.loads((store.read(stage.kind, stage.key) / PREDICTIONS).read_text())
    dev = load_examples(store.read("examples", stage.inputs["examples"].key) / "dev")
    references = dev.answers if task.form == "span" else [int(label) for label in dev.labels]
    scores = score(task, predictions, references)
    return {"task": told.task, "seed": told.seed, "scores": {**scores}, **outcome.result}


def primary_score(record: Record) -> float | None:
    """Return a fine-tuning record's score by its task's primary metric, None where it has none."""
    scores = record.result.get("scores")
    found = scores.get(primary_metric(str(record.result["task"]))) if isinstance(scores, dict) else None
    return float(found) if isinstance(found, int | float) else None

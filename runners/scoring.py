"""Turn a fine-tuned model's predictions into scores, in the driver: trial workers need no metrics library."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runners.choice import CHOICE
from runners.records import Record, Status
from runners.stages.declarations import FineTuneStage
from runners.stages.stage import Stage
from runners.store import Outcome, StageStore
from runners.teaching import Teaching
from search_space.declaration import JsonValue
from tasks.downstream import find_task
from tasks.downstream.encoding import EncodedExamples, load_examples
from tasks.downstream.halves import choice_half
from tasks.downstream.scoring import score
from tasks.downstream.task import DownstreamTask


def scored(
    stage: Stage, outcome: Outcome, store: StageStore, teaching: Teaching | None = None
) -> dict[str, JsonValue]:
    """Return what the ledger keeps of a stage: its result, for a fine-tuning stage with the task's scores.

    Where it is one combination of a search, also what it is chosen by; its scores are then of the other half.
    """
    told = stage.declaration
    if not isinstance(told, FineTuneStage) or outcome.status is not Status.FINISHED:
        return dict(outcome.result)
    task = find_task(told.task)
    predicted = store.read(stage.kind, stage.key)
    asked = store.read("examples", stage.inputs["examples"].key)
    result: dict[str, JsonValue] = {"task": told.task, "seed": told.seed}
    for part in ("dev", *other_parts(asked)):
        references = references_of(task, load_examples(asked / part))
        if references is not None:
            predictions = json.loads((predicted / predictions_file(part)).read_text())
            result[scores_name(part)] = {**score(task, predictions, references)}
            if task.form != "span" and len(set(predictions)) == 1:
                result["constant" if part == "dev" else f"constant {part}"] = True
    if teaching is not None and teaching.chosen_on is not None:
        dev, predictions = load_examples(asked / "dev"), json.loads((predicted / predictions_file("dev")).read_text())
        result |= chosen_by(teaching, task, dev, predictions)
    return {**result, **outcome.result}


def chosen_by(
    teaching: Teaching, task: DownstreamTask, dev: EncodedExamples, predictions: list[Any]
) -> dict[str, JsonValue]:
    """Return the scores of the reported half and the choice score of the other, or both of the whole set."""
    references = references_of(task, dev)
    assert references is not None
    whole = np.ones(len(dev), dtype=bool)
    chosen, reported = whole, whole
    if teaching.chosen_on == "held_out_half":
        chosen = choice_half(dev)
        reported = ~chosen

    def scores(part: NDArray[np.bool_]) -> dict[str, float]:
        places = np.flatnonzero(part).tolist()
        right: list[Any] = [references[place] for place in places]
        return score(task, [predictions[place] for place in places], right)

    choice: dict[str, JsonValue] = {
        "score": scores(chosen)[task.metrics[0]],
        "n": int(chosen.sum()),
        "reported": int(reported.sum()),
        "chosen_on": teaching.chosen_on,
        "searched": {**teaching.searched},
    }
    return {"scores": {**scores(reported)}, CHOICE: choice}


def predictions_file(part: str) -> str:
    """Return the name of the file that keeps what was predicted for a part."""
    return "predictions.json" if part == "dev" else f"predictions.{part}.json"


def scores_name(part: str) -> str:
    """Return the key under which a record keeps a part's scores."""
    return "scores" if part == "dev" else f"scores {part}"


def other_parts(folder: Path) -> tuple[str, ...]:
    """Return the parts of encoded examples beside train and dev, sorted."""
    parts = (path.name for path in folder.iterdir() if path.is_dir())
    return tuple(sorted(part for part in parts if part not in ("train", "dev")))


def references_of(
    task: DownstreamTask, examples: EncodedExamples
) -> Sequence[int] | Sequence[float] | Sequence[str] | None:
    """Return the right answers of a part; None where they are not known, as in a test that others mark."""
    if task.form == "span":
        return examples.answers
    if task.value_range is not None:
        return examples.values or None
    labels = [int(label) for label in examples.labels]
    return None if -1 in labels else labels


def primary_score(record: Record) -> float | None:
    """Return a fine-tuning record's score by its task's primary metric, None where it has none."""
    scores = record.result.get("scores")
    found = scores.get(find_task(str(record.result["task"])).metrics[0]) if isinstance(scores, dict) else None
    return float(found) if isinstance(found, int | float) else None

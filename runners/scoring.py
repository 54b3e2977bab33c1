"""Turn a fine-tuned model's predictions into scores, in the driver: trial workers need no metrics library."""

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from configuration.fine_tuning_runs import FineTuningRun
from configuration.metrics import primary_metric
from foundation.errors import CorruptionError
from foundation.schema import JsonValue, canonical_text
from ledger.artifacts import ArtifactStore, Outcome
from ledger.records import Record, Status
from ledger.result_files import other_parts, predictions_file, scores_name
from ledger.rows import read_result
from ledger.stage_results import FineTuneResult, StageResult
from runners.frozen_scoring import frozen_scores
from runners.stages.declarations import FineTuneStage, TaskStage
from runners.stages.stage import Stage
from tasks.downstream import find_task
from tasks.labelled.dev_halves import choice_half
from tasks.labelled.encoding import EncodedExamples, load_examples
from tasks.labelled.scoring import references_of, score
from tasks.labelled.task import DownstreamTask, Version
from tasks.squad.official_metrics import squad_scores
from tasks.squad.subsets import choice_half_of_questions
from tasks.squad.windows_on_disk import load_questions


def scored(
    stage: Stage, outcome: Outcome, store: ArtifactStore, teaching: FineTuningRun | None = None
) -> StageResult:
    """Return what the ledger keeps of a stage: its result, of a downstream task with its scores.

    Where it is one combination of a search, also what it is chosen by; its scores are then of the other half. Raises
    CorruptionError where the stage store holds no result of that kind of stage.
    """
    told = stage.declaration
    found = dict(outcome.result)
    if isinstance(told, TaskStage) and outcome.status is Status.FINISHED:
        seed = told.seed if isinstance(told, FineTuneStage) else 0  # nothing is drawn on a frozen encoder
        found = {"task": told.task, "seed": seed, **_scores(stage, told, store, teaching), **found}
    try:
        return read_result(stage.kind, outcome.status, canonical_text(found))
    except ValueError as fault:
        raise CorruptionError(
            f"{store.folder(stage.kind, stage.key)}: {fault}. Move the folder away and run again"
        ) from fault


def _scores(
    stage: Stage, told: TaskStage, store: ArtifactStore, teaching: FineTuningRun | None
) -> dict[str, JsonValue]:
    task = find_task(told.task)
    predicted = store.read(stage.kind, stage.key)
    asked = store.read("examples", stage.inputs["examples"].key)
    if task.method != "fine_tune":
        return frozen_scores(task, asked, predicted)
    searched = teaching if teaching is not None and teaching.chosen_on is not None else None
    if task.squad is None:
        return _of_labels(task, asked, predicted, searched)
    return _of_squad(task, task.squad, asked, predicted, searched)


def _of_squad(
    task: DownstreamTask, version: Version, asked: Path, predicted: Path, searched: FineTuningRun | None
) -> dict[str, JsonValue]:
    questions, texts = load_questions(asked / "dev"), json.loads((predicted / predictions_file("dev")).read_text())

    def scores(part: NDArray[np.bool_]) -> dict[str, float]:
        chosen = [questions[place] for place in np.flatnonzero(part)]
        return {**squad_scores(chosen, version, texts).metrics}

    found: dict[str, JsonValue] = {}
    reported = np.ones(len(questions), dtype=bool)
    if searched is not None:
        chosen, reported = _parts(searched, len(questions), partial(choice_half_of_questions, questions))
        found["choice"] = _choice(searched, scores(chosen)[task.metrics[0]], chosen, reported)
    official = scores(reported)
    return {"scores": {metric: official[metric] for metric in task.metrics}, "official": {**official}, **found}


def _of_labels(
    task: DownstreamTask, asked: Path, predicted: Path, searched: FineTuningRun | None
) -> dict[str, JsonValue]:
    result: dict[str, JsonValue] = {}
    for part in ("dev", *other_parts(asked)):
        examples = load_examples(asked / part)
        if references_of(task, examples) is None:
            continue
        predictions = json.loads((predicted / predictions_file(part)).read_text())
        decided = searched if part == "dev" else None  # further parts are reported whole: nothing is chosen by them
        result |= _named(part, chosen_by(decided, task, examples, predictions))
        if task.form != "span" and len(set(predictions)) == 1:
            result["constant" if part == "dev" else f"constant {part}"] = True
    return result


def _named(part: str, found: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    return {scores_name(part) if name == "scores" else name: value for name, value in found.items()}


def chosen_by(
    searched: FineTuningRun | None, task: DownstreamTask, dev: EncodedExamples, predictions: list[Any]
) -> dict[str, JsonValue]:
    """Return the scores; of a search those of the reported half and the choice score of the other."""
    references = references_of(task, dev)
    assert references is not None

    def scores(part: NDArray[np.bool_]) -> dict[str, float]:
        places = np.flatnonzero(part).tolist()
        right: list[Any] = [references[place] for place in places]
        return score(task, [predictions[place] for place in places], right)

    if searched is None:
        return {"scores": {**score(task, predictions, references)}}
    chosen, reported = _parts(searched, len(dev), partial(choice_half, dev))
    return {
        "scores": {**scores(reported)},
        "choice": _choice(searched, scores(chosen)[task.metrics[0]], chosen, reported),
    }


def _parts(
    searched: FineTuningRun, count: int, half: Callable[[], NDArray[np.bool_]]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which examples a search chooses by and which it reports: two halves, or both the whole."""
    if searched.chosen_on == "dev":
        return np.ones(count, dtype=bool), np.ones(count, dtype=bool)
    chosen = half()
    return chosen, ~chosen


def _choice(
    searched: FineTuningRun, score: float, chosen: NDArray[np.bool_], reported: NDArray[np.bool_]
) -> dict[str, JsonValue]:
    return {
        "score": score,
        "n": int(chosen.sum()),
        "reported": int(reported.sum()),
        "chosen_on": searched.chosen_on,
        "searched": {**searched.searched},
    }


def primary_score(record: Record) -> float | None:
    """Return a fine-tuning record's score by its task's primary metric, None where it has none."""
    result = record.result
    return result.score(primary_metric(result.task)) if isinstance(result, FineTuneResult) else None

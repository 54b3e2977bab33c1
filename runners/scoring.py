"""Scores the predictions of a task stage, in the driver, so that trial workers import no metrics library."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from runners.frozen_scoring import frozen_scores
from runners.named_predictions import own_metric_scores
from runners.stages.fine_tune import FineTuneStage
from runners.stages.stage import Stage, TaskStage
from steeplechase.configuration.fine_tuning import FineTuning
from steeplechase.configuration.fine_tuning_runs import FineTuningRun
from steeplechase.configuration.plugins import sources_of
from steeplechase.foundation.canonical import canonical_text
from steeplechase.foundation.errors import MISREAD, CorruptionError, shown
from steeplechase.foundation.option_modules import written_name
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.artifacts import ArtifactStore, Outcome
from steeplechase.ledger.paths import other_parts, predictions_file, scores_name
from steeplechase.ledger.records import Status
from steeplechase.ledger.rows import read_result
from steeplechase.ledger.stage_results import StageResult
from steeplechase.tasks.labelled.dev_halves import selection_half
from steeplechase.tasks.labelled.encoding import EncodedExamples, load_examples
from steeplechase.tasks.labelled.forms import EncodedTextPairs, EncodedWords, load_text_pairs, load_words
from steeplechase.tasks.labelled.scoring import references_of, score, score_tags
from steeplechase.tasks.labelled.task import DownstreamTask, Version
from steeplechase.tasks.labelled.without_value import without_value
from steeplechase.tasks.own_metrics import module_of
from steeplechase.tasks.squad.official_metrics import squad_scores
from steeplechase.tasks.squad.prepare import selection_half_of_questions
from steeplechase.tasks.squad.windows import load_questions
from steeplechase.tasks.text_metrics import TextScore, text_scores

NO_METRICS: Mapping[str, Mapping[str, str]] = {}
Half = Callable[[], NDArray[np.bool_]]
"""Returns which examples of dev are in the half that a hyperparameter search selects on."""
SAMPLES = 3
SAMPLE_CHARACTERS = 300


def metrics_with_sources(tuning: FineTuning) -> dict[str, dict[str, str]]:
    """Return a user's metrics by task, each with the hash of the source that it is computed by."""
    sources = sources_of(tuning)
    return {
        task: {each: str(sources[written_name(module_of(each))]) for each in references}
        for task, references in tuning.metrics.items()
        if references
    }


def scored_result(
    stage: Stage,
    outcome: Outcome,
    store: ArtifactStore,
    run: FineTuningRun | None = None,
    own_metrics: Mapping[str, Mapping[str, str]] = NO_METRICS,
    shared_examples: Stage | None = None,
) -> StageResult:
    """Return the result of a stage for the ledger; of a stage that evaluates a downstream task, with its scores.

    If `run` is one combination of a hyperparameter search, the scores are those of the reporting half of dev, and the
    selection score on the other half is part of the result. The halves are those of `shared_examples`, the task's
    examples in the experiment's vocabulary, of arms with a vocabulary of their own too. `own_metrics` has a user's
    metrics by task, each with the hash of its source, which the result keeps. Raises CorruptionError if the stored
    result or the predictions are not those of this kind of stage.
    """
    declaration = stage.declaration
    result = dict(outcome.result)
    try:
        if isinstance(declaration, TaskStage) and outcome.status is Status.FINISHED:
            own = own_metrics.get(declaration.task, {})
            seed = declaration.seed if isinstance(declaration, FineTuneStage) else 0  # a frozen encoder draws nothing
            result = {
                "task": declaration.task,
                "seed": seed,
                **_scores(stage, declaration, store, run, tuple(own), shared_examples or stage.inputs["examples"]),
                **({"own_metrics": {**own}} if own else {}),
                **result,
            }
            if isinstance(declaration, FineTuneStage) and declaration.own_task is not None:
                result["primary_metric"] = declaration.downstream.metrics[0]
        return read_result(stage.kind, outcome.status, canonical_text(result))
    except MISREAD as fault:
        folder = store.folder(stage.kind, stage.key)
        raise CorruptionError(f"{folder}: {shown(fault)}. Move the folder away and run again") from fault


def _scores(
    stage: Stage,
    declaration: TaskStage,
    store: ArtifactStore,
    run: FineTuningRun | None,
    own: tuple[str, ...],
    halved: Stage,
) -> dict[str, JsonValue]:
    task = declaration.downstream
    predictions = store.read(stage.kind, stage.key)
    examples = store.read("examples", stage.inputs["examples"].key)
    if task.method != "fine_tune":
        return frozen_scores(task, examples, predictions)
    search = run if run is not None and run.chosen_on is not None else None
    if task.squad is None:
        halves_of = examples if search is None else store.read(halved.kind, halved.key)
        return part_scores(task, examples, predictions, search, own, halves_of)
    return _question_scores(task, task.squad, examples, predictions, search)


def _question_scores(
    task: DownstreamTask,
    version: Version,
    examples_folder: Path,
    predictions_folder: Path,
    search: FineTuningRun | None,
) -> dict[str, JsonValue]:
    """Return the official metrics of SQuAD's dev questions."""
    questions = load_questions(examples_folder / "dev")
    answers = json.loads((predictions_folder / predictions_file("dev")).read_text())

    def scores(mask: NDArray[np.bool_]) -> dict[str, float]:
        chosen = [questions[position] for position in np.flatnonzero(mask)]
        return {**squad_scores(chosen, version, answers).metrics}

    choice: dict[str, JsonValue] = {}
    reporting = np.ones(len(questions), dtype=bool)
    if search is not None:
        selection, reporting = _dev_masks(search, len(questions), partial(selection_half_of_questions, questions))
        choice["choice"] = _choice(search, scores(selection)[task.metrics[0]], selection, reporting)
    official = scores(reporting)
    return {"scores": {metric: official[metric] for metric in task.metrics}, "official": {**official}, **choice}


def part_scores(
    task: DownstreamTask,
    examples_folder: Path,
    predictions_folder: Path,
    search: FineTuningRun | None,
    own: tuple[str, ...] = (),
    halves_of: Path | None = None,
) -> dict[str, JsonValue]:
    """Return the scores of every labelled part, those of `own` metrics included.

    The halves of a search are those of the dev examples in `halves_of`, by default of the same folder.
    """
    result: dict[str, JsonValue] = {}

    def half() -> NDArray[np.bool_]:
        return selection_half(load_examples((halves_of or examples_folder) / "dev"))

    for part in ("dev", *other_parts(examples_folder)):
        predictions = json.loads((predictions_folder / predictions_file(part)).read_text())
        dev_search = search if part == "dev" else None  # settings are selected on dev alone
        if task.form == "text_pair":
            scores = generated_scores(dev_search, task, load_text_pairs(examples_folder / part), predictions, half)
            if part != "dev":
                scores = {"scores": scores["scores"]}
        elif task.form == "tags":
            scores = tag_scores(dev_search, task, load_words(examples_folder / part), predictions, half)
        elif references_of(task, examples := load_examples(examples_folder / part)) is not None:
            scores = label_scores(dev_search, task, examples, predictions, half)
        else:
            continue
        absent = _without_value(task, examples_folder / part)
        if own:
            reporting = None if dev_search is None or dev_search.chosen_on == "dev" else ~half()
            found, undefined = own_metric_scores(own, task, examples_folder / part, predictions, reporting)
            absent |= undefined
            scores["scores"] = {**cast("dict[str, JsonValue]", scores["scores"]), **found}
        result |= {scores_name(part) if name == "scores" else name: value for name, value in scores.items()}
        if part == "dev" and absent:
            result["without_value"] = {**absent}
        if task.form != "span" and len(set(predictions)) == 1:
            result["constant" if part == "dev" else f"constant {part}"] = True
    return result


def _without_value(task: DownstreamTask, folder: Path) -> dict[str, str]:
    """Return the metrics that the examples of a part give no value, each with the reason."""
    if task.form in ("text_pair", "span"):
        return {}
    if task.form == "tags":
        return without_value(task, load_words(folder).tags)
    references = references_of(task, load_examples(folder))
    return {} if references is None else without_value(task, references)


def label_scores(
    search: FineTuningRun | None, task: DownstreamTask, dev: EncodedExamples, predictions: list[Any], half: Half
) -> dict[str, JsonValue]:
    """Return the scores of `predictions`, one per example of `dev`, from 0 to 100.

    Of a hyperparameter search: the scores of the reporting half, and the selection score of the other half.
    """
    references = references_of(task, dev)
    assert references is not None

    def scores(mask: NDArray[np.bool_]) -> dict[str, float]:
        positions = np.flatnonzero(mask).tolist()
        chosen_references: list[Any] = [references[position] for position in positions]
        return score(task, [predictions[position] for position in positions], chosen_references)

    return _searched_scores(search, task, len(dev), half, scores)


def tag_scores(
    search: FineTuningRun | None, task: DownstreamTask, dev: EncodedWords, predictions: Sequence[int], half: Half
) -> dict[str, JsonValue]:
    """Return the scores of `predictions`, one tag per word of `dev`; as `label_scores`, with halves of sentences."""
    tags, sentences = np.asarray(dev.tags), np.asarray(dev.sentences)

    def scores(mask: NDArray[np.bool_]) -> dict[str, float]:
        words = np.flatnonzero(mask[sentences])
        chosen = [predictions[word] for word in words.tolist()]
        return score_tags(task, chosen, tags[words].tolist(), sentences[words].tolist())

    return _searched_scores(search, task, len(dev.sequences), half, scores)


def generated_scores(
    search: FineTuningRun | None, task: DownstreamTask, dev: EncodedTextPairs, predictions: Sequence[str], half: Half
) -> dict[str, JsonValue]:
    """Return the scores of generated texts, one per source of `dev`, with their intervals and signatures."""

    def found(mask: NDArray[np.bool_]) -> dict[str, TextScore]:
        chosen = np.flatnonzero(mask).tolist()
        texts = [predictions[position] for position in chosen]
        return text_scores(task.metrics, texts, [dev.references[position] for position in chosen])

    selection, reporting = np.zeros(len(dev), dtype=bool), np.ones(len(dev), dtype=bool)
    if search is not None:
        selection, reporting = _dev_masks(search, len(dev), half)
    reported = found(reporting)
    result: dict[str, JsonValue] = {
        "scores": {metric: score.value for metric, score in reported.items()},
        "intervals": {metric: [*score.interval] for metric, score in reported.items()},
        "signatures": {metric: score.signature for metric, score in reported.items()},
        "samples": _samples(dev, predictions),
    }
    if search is not None:
        result["choice"] = _choice(search, found(selection)[task.metrics[0]].value, selection, reporting)
    return result


def _samples(dev: EncodedTextPairs, predictions: Sequence[str]) -> list[JsonValue]:
    """Return the first texts of `dev` with what was generated, each at most `SAMPLE_CHARACTERS` long."""
    texts = zip(dev.source_texts, dev.references, predictions, strict=True)
    names = ("source", "reference", "generated")
    return [
        {name: text[:SAMPLE_CHARACTERS] for name, text in zip(names, one, strict=True)}
        for one in islice(texts, SAMPLES)
    ]


def _searched_scores(
    search: FineTuningRun | None,
    task: DownstreamTask,
    examples: int,
    half: Half,
    scores: Callable[[NDArray[np.bool_]], dict[str, float]],
) -> dict[str, JsonValue]:
    """Return the scores of all examples; of a hyperparameter search those of its reporting half, and its choice."""
    if search is None:
        return {"scores": {**scores(np.ones(examples, dtype=bool))}}
    selection, reporting = _dev_masks(search, examples, half)
    return {
        "scores": {**scores(reporting)},
        "choice": _choice(search, scores(selection).get(task.metrics[0]), selection, reporting),
    }


def _dev_masks(search: FineTuningRun, count: int, half: Half) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return masks [example] of the examples for selection and for reporting: two halves, or all of dev twice."""
    if search.chosen_on == "dev":
        return np.ones(count, dtype=bool), np.ones(count, dtype=bool)
    selection = half()
    return selection, ~selection


def _choice(
    search: FineTuningRun, score: float | None, selection: NDArray[np.bool_], reporting: NDArray[np.bool_]
) -> dict[str, JsonValue]:
    return {
        "score": score,
        "n": int(selection.sum()),
        "reported": int(reporting.sum()),
        "chosen_on": search.chosen_on,
        "searched": {**search.searched},
    }

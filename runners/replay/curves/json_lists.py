"""Recorded curves in one JSON list, in the layouts of two publications.

TaskSet, in the format of the DyHPO repository: `[{hp: {…}, train|valid|test: {loss: […]}}, …]`, maybe in xz. Metz et
al. 2020, arXiv 2002.11887; Wistuba et al. 2022, DyHPO. The curves are validation losses. Points are 1/51 of a
training apart, and the first is the loss before training.

NAS-Bench-BERT: 500 encoders with final GLUE scores, without learning curves. Serianni and Kalita 2023, Training-free
Neural Architecture Search for RNNs and Transformers, `BERT_benchmark.json` (CC BY 4.0). A score per architecture is a
curve of one point. The train ablation file of the same release has scores by pretraining step; the totals of five
runs are wrong, and some runs have no score.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from runners.replay.curves.recorded import Mistakes, RecordedCurves, Unreadable, from_table, recorded
from steeplechase.foundation.schema import JsonValue

LISTED = "TaskSet entries (hp, valid) or NAS-Bench-BERT entries (scores, hparams)"
OVERFLOW = 1e10  # TaskSet writes at least this for overflowed losses
IMPOSSIBLE = 100.0  # five long runs have totals above it; the other totals are means over tasks
TASKS = ("cola", "mnli", "mrpc", "qnli", "qqp", "rte", "sst", "sts")


def listed_curves(name: str, document: JsonValue) -> RecordedCurves:
    """Return the curves of a document in one of the two layouts. Raises Unreadable with the entry and the rule."""
    if not isinstance(document, list):
        raise Unreadable(f"a list is needed, {LISTED}; the plain format, an object per line, ends in .jsonl")
    first = document[0] if document and isinstance(document[0], dict) else {}
    if "hp" in first:
        return _trained_curves(name, document)
    if "scores" in first:
        return _scored_curves(name, document)
    raise Unreadable(f"a list of other entries; needed are {LISTED}")


def _trained_curves(name: str, document: Sequence[JsonValue]) -> RecordedCurves:
    """Return the validation curves. Raises Unreadable with the entry, the rule and the value."""
    configs: list[dict[str, JsonValue]] = []
    curves: list[list[JsonValue]] = []
    mistakes = Mistakes()
    for number, entry in enumerate(document):
        with mistakes.of_one():
            config, losses = _trained_entry(entry, number)
            if curves and len(losses) != len(curves[0]):
                message = f"valid.loss has {len(losses)} points, the first entry has {len(curves[0])}"
                raise Unreadable(f"entry {number}: {message}")
            configs.append(config)
            curves.append(losses)
    mistakes.refuse()
    values = np.array(curves, dtype=np.float64)  # None becomes NaN
    values[~(np.abs(values) < OVERFLOW)] = np.inf
    return from_table(name, [str(number) for number in range(len(configs))], configs, range(len(curves[0])), values)


def _trained_entry(entry: JsonValue, number: int) -> tuple[dict[str, JsonValue], list[JsonValue]]:
    parts = entry if isinstance(entry, dict) else {}
    config, valid = parts.get("hp"), parts.get("valid")
    losses = valid.get("loss") if isinstance(valid, dict) else None
    if not isinstance(config, dict):
        raise Unreadable(f"entry {number}: hp is {_kind(config)}; a mapping of hyper-parameters is needed")
    if not isinstance(losses, list) or not losses:
        raise Unreadable(f"entry {number}: valid.loss is {_kind(losses)}; a list of numbers is needed")
    wrong = next(
        (each for each in losses if isinstance(each, bool) or not isinstance(each, int | float | None)), None
    )
    if wrong is not None:
        raise Unreadable(f"entry {number}: valid.loss holds {wrong!r}; numbers are needed")
    return config, losses


def _kind(value: JsonValue) -> str:
    return "missing" if value is None else f"{type(value).__name__} {str(value)[:40]!r}"


def _scored_curves(name: str, document: Sequence[JsonValue]) -> RecordedCurves:
    """Return negated GLUE scores, so that smaller is better. Raises Unreadable with the entry and the rule."""
    configs: dict[str, Mapping[str, JsonValue]] = {}
    points: dict[str, dict[float, float]] = {}
    mistakes = Mistakes()
    for number, entry in enumerate(document):
        with mistakes.of_one():
            candidate, config, curve = _scored_entry(entry, number)
            if candidate in points:
                raise Unreadable(f"entry {number}: duplicate id {candidate}")
            if all(score <= IMPOSSIBLE for score in curve.values()):
                configs[candidate], points[candidate] = config, curve
    mistakes.refuse()
    return recorded(name, configs, points, maximise=True)


def _scored_entry(entry: JsonValue, number: int) -> tuple[str, Mapping[str, JsonValue], dict[float, float]]:
    parts = entry if isinstance(entry, dict) else {}
    scores, parameters = parts.get("scores"), parts.get("hparams")
    if not isinstance(scores, dict) or not isinstance(parameters, dict):
        raise Unreadable(f"entry {number}: scores and hparams must be mappings")
    by_step = {1.0: scores} if "glue" in scores else {float(key): scores[key] for key in scores if key.isdigit()}
    scores_by_step: dict[float, float] = {}
    for step, values in by_step.items():
        glue = values.get("glue") if isinstance(values, dict) else None
        if isinstance(glue, bool) or not isinstance(glue, int | float):
            raise Unreadable(f"entry {number}: scores.glue is {glue!r}; a number is needed")
        tasks = [values.get(task) for task in TASKS] if isinstance(values, dict) and glue > IMPOSSIBLE else []
        known = [score for score in tasks if isinstance(score, int | float)]
        scores_by_step[step] = sum(known) / len(TASKS) if len(known) == len(TASKS) else float(glue)
    if not scores_by_step and scores:
        raise Unreadable(f"entry {number}: scores holds neither glue nor scores by step")
    overrides = parameters.get("model_hparam_overrides")
    return str(parts.get("id", number)), overrides if isinstance(overrides, dict) else parameters, scores_by_step

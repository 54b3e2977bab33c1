"""NAS-Bench-BERT: 500 encoders with final GLUE scores, without learning curves.

Serianni and Kalita 2023, Training-free Neural Architecture Search for RNNs and Transformers, `BERT_benchmark.json`
(CC BY 4.0). A score per architecture is a curve of one point. The train ablation file of the same release has
scores by pretraining step; the totals of five runs are wrong, and some runs have no score.
"""

from collections.abc import Mapping, Sequence

from runners.replay.curves.recorded import Mistakes, RecordedCurves, Unreadable, recorded
from steeplechase.foundation.schema import JsonValue

IMPOSSIBLE = 100.0  # five long runs have totals above it; the other totals are means over tasks
TASKS = ("cola", "mnli", "mrpc", "qnli", "qqp", "rte", "sst", "sts")


def recognises(document: JsonValue) -> bool:
    """Return whether a JSON document looks like one of the two NAS-Bench-BERT files."""
    return isinstance(document, list) and bool(document) and isinstance(document[0], dict) and "scores" in document[0]


def read(name: str, document: Sequence[JsonValue]) -> RecordedCurves:
    """Return negated GLUE scores, so that smaller is better. Raises Unreadable with the entry and the rule."""
    configs: dict[str, Mapping[str, JsonValue]] = {}
    points: dict[str, dict[float, float]] = {}
    mistakes = Mistakes()
    for number, entry in enumerate(document):
        with mistakes.of_one():
            candidate, config, curve = _entry(entry, number)
            if candidate in points:
                raise Unreadable(f"entry {number}: duplicate id {candidate}")
            if all(score <= IMPOSSIBLE for score in curve.values()):
                configs[candidate], points[candidate] = config, curve
    mistakes.refuse()
    return recorded(name, configs, points, maximise=True)


def _entry(entry: JsonValue, number: int) -> tuple[str, Mapping[str, JsonValue], dict[float, float]]:
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

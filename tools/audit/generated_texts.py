"""Scores of generated texts by model, and the texts of each arm's first model."""

import math
from collections.abc import Iterator

from tools.audit.exports import Row, finite
from tools.audit.rule import Published, Rule
from tools.audit.study import Study

PERPLEXITY = "perplexity of targets"
LARGEST_LOSS = 700.0
"""Above it the report has no perplexity, which would be no finite number."""
UNIT = "lower is better; e to the mean loss in nats of the tokens of dev, ends included"


def _generated(study: Study) -> Iterator[tuple[str, int, Row]]:
    """Yield arm, pretraining seed and result of each model whose texts were scored."""
    for arm in study.arms:
        for trial in study.export.of_arm(arm):
            yield from ((arm, trial.seed, result) for result in trial.scored.values() if result.get("intervals"))


def scores(study: Study, _: Published) -> Iterator[Row]:
    """Yield every score with its interval over resampled texts, and the perplexity of the targets."""
    for arm, seed, result in _generated(study):
        model = {"arm": arm, "seed": seed, "fine_tuning_seed": result["seed"], "task": result["task"]}
        for metric, (low, high) in result["intervals"].items():
            signature = (result.get("signatures") or {}).get(metric, "")
            value = finite(result["scores"].get(metric))
            found = {"metric": metric, "value": value, "low": finite(low), "high": finite(high)}
            yield {**model, **found, "texts": result["examples"], "signature": signature}
        loss = finite((result.get("target_losses") or {}).get("dev"))
        if loss is not None:
            value = math.exp(loss) if loss < LARGEST_LOSS else None
            found = {"metric": PERPLEXITY, "value": value, "texts": result["examples"], "signature": UNIT}
            yield {**model, **found, "low": None, "high": None}


def samples(study: Study, _: Published) -> Iterator[Row]:
    """Yield the texts that the first model of each arm and task has kept; an empty one is an empty cell."""
    first: dict[tuple[str, str], Row] = {}
    for arm, _seed, result in _generated(study):
        if result.get("samples"):
            first.setdefault((arm, result["task"]), result)
    for (arm, task), result in first.items():
        for sample in result["samples"]:
            yield {"arm": arm, "task": task, **{column: text or None for column, text in sample.items()}}


RULES = {
    "generated_texts": Rule(("arm", "seed", "fine_tuning_seed", "task", "metric"), scores),
    "text_samples": Rule(("arm", "task", "source"), samples),
}

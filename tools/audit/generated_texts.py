"""Scores of generated texts by model, and the texts of each arm's first model."""

import math
from collections.abc import Iterator

from tools.audit.exports import Row
from tools.audit.rule import Published, Rule
from tools.audit.study import Study

PERPLEXITY = "perplexity of targets"
UNIT = "lower is better; e to the mean loss in nats of the tokens of dev, ends included"


def _generated(study: Study) -> Iterator[tuple[str, int, Row]]:
    """Yield arm, pretraining seed and result of each model whose texts were scored."""
    for arm in study.arms:
        for trial in sorted(study.export.of_arm(arm), key=lambda each: each.seed):
            yield from ((arm, trial.seed, result) for result in trial.scored.values() if result.get("intervals"))


def scores(study: Study, _: Published) -> Iterator[Row]:
    """Yield every score with its interval over resampled texts, and the perplexity of the targets."""
    for arm, seed, result in _generated(study):
        model = {"arm": arm, "seed": seed, "fine_tuning_seed": result["seed"], "task": result["task"]}
        for metric, (low, high) in result["intervals"].items():
            signature = (result.get("signatures") or {}).get(metric, "")
            found = {"metric": metric, "value": result["scores"].get(metric), "low": low, "high": high}
            yield {**model, **found, "texts": result["examples"], "signature": signature}
        loss = (result.get("target_losses") or {}).get("dev")
        if loss is not None:
            found = {"metric": PERPLEXITY, "value": math.exp(loss), "texts": result["examples"], "signature": UNIT}
            yield {**model, **found, "low": None, "high": None}


def samples(study: Study, _: Published) -> Iterator[Row]:
    """Yield the texts that the first model of each arm and task has kept."""
    first: dict[tuple[str, str], Row] = {}
    for arm, _seed, result in _generated(study):
        if result.get("samples"):
            first.setdefault((arm, result["task"]), result)
    for (arm, task), result in first.items():
        yield from ({"arm": arm, "task": task, **sample} for sample in result["samples"])


RULES = {
    "generated_texts": Rule(("arm", "seed", "fine_tuning_seed", "task", "metric"), scores),
    "text_samples": Rule(("arm", "task", "source"), samples),
}

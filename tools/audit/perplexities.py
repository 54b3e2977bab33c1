"""Perplexities of texts left out, from the summed losses of each model, and the same by length of memory."""

import math
from collections.abc import Iterator

from tools.audit.exports import Row, Trial
from tools.audit.inference import contrast
from tools.audit.rule import Published, Rule
from tools.audit.seed_values import summary
from tools.audit.study import Study

PERPLEXITY, PER_TOKEN = "perplexity", "perplexity_per_token"
UNIT = "words that name the measure"
FROM = {PER_TOKEN: "tokens", "perplexity_per_word": "words"}
"""Measures that are e to a loss, with what it is divided by."""


def _results(trial: Trial) -> Iterator[Row]:
    yield from (record.result for record in trial.finished(PERPLEXITY))


def _measured(result: Row) -> dict[str, float]:
    nats = result["nats"]
    found = {measure: math.exp(nats / result[unit]) for measure, unit in FROM.items()}
    return {**found, "bits_per_character": nats / math.log(2) / result["characters"]}


def perplexities(study: Study, _: Published) -> Iterator[Row]:
    """Yield every measure of every text by arm, over the pretraining seeds."""
    for arm in study.arms:
        by_text: dict[str, dict[int, Row]] = {}
        for trial in study.export.of_arm(arm):
            for result in _results(trial):
                by_text.setdefault(result["text"], {})[trial.seed] = result
        for text, by_seed in by_text.items():
            one = next(iter(by_seed.values()))
            sizes = {name: one[name] for name in ("tokens", "words", "characters")}
            for measure in _measured(one):
                values = {seed: _measured(result)[measure] for seed, result in by_seed.items()}
                place = {
                    "arm": arm,
                    "text": text,
                    "measure": measure,
                    "unknown_share": one["unknown"] / one["tokens"],
                }
                yield {**place, **sizes, **summary(values)}


def by_memory(study: Study, _: Published) -> Iterator[Row]:
    """Yield the perplexity per token by length of memory; without a memory in training there is none to read with."""
    texts = study.document["measure"][PERPLEXITY]["texts"]
    for arm in study.export.arms:
        trained_with = arm.candidate["architecture"].get("memory", 0)
        values: dict[int, dict[int, float]] = {}
        for trial in study.export.of_arm(arm.name):
            for result in _results(trial):
                read_with = texts[result["text"]].get("memory") if trained_with else None
                memory = trained_with if read_with is None else read_with
                values.setdefault(memory, {})[trial.seed] = _measured(result)[PER_TOKEN]
        for memory, by_seed in values.items():
            found = contrast([by_seed], [1.0])
            low, high = found.interval()
            place = {"arm": arm.name, "trained_with": trained_with, "memory": memory}
            yield {**place, "n": found.n, "mean": found.value, "low": low, "high": high}


RULES = {
    PERPLEXITY: Rule(("arm", "text", "measure"), perplexities, {"unit": UNIT}),
    "perplexity_by_memory": Rule(("arm", "memory"), by_memory),
}

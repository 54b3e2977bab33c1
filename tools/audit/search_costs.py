"""The lowest loss that a search has seen by what it has spent, in full trainings of a candidate."""

import math
from collections.abc import Iterator

from tools.audit.exports import BASELINE, DIVERGED, FINISHED, LOSS, PRETRAIN, Record, Row, Trial, finite
from tools.audit.rule import Published, Rule
from tools.audit.study import Study


def best_by_cost(study: Study, _: Published) -> Iterator[Row]:
    """Yield the cost at which the lowest loss is first seen, each cost at which it falls, and the whole cost."""
    lowest, shown, last = math.inf, math.inf, None
    for cost, loss in _trainings(study):
        lowest = min(lowest, loss)
        last = {"search": study.document["experiment"], "n": 1, "cost": f"{cost:.6f}", "mean": lowest}
        last |= {"low": None, "high": None}
        if lowest < shown:
            yield last
            shown, last = lowest, None
    if last is not None and math.isfinite(lowest):
        yield last


def _trainings(study: Study) -> Iterator[tuple[float, float]]:
    """Yield what has been spent after each training of a candidate, and its mean loss over the first seeds.

    It is infinite while one of the seeds is missing, and for a candidate that has diverged.
    """
    pretraining = study.document["pretraining"]
    seeds = _first_seeds(pretraining["seeds"])
    of_arm: dict[tuple[str, int], dict[int, float]] = {}
    reached: dict[str, int] = {}
    spent = 0
    trials = [trial for trial in study.export.trials if trial.arm != BASELINE]
    for record, trial in sorted(_counted(trials), key=lambda pair: pair[0].sequence):
        tokens = record.tokens or 0
        spent += tokens - reached.get(trial.name, 0)
        reached[trial.name] = tokens
        loss = finite(record.result.get(LOSS)) if record.status == FINISHED else None
        losses = of_arm.setdefault((trial.arm, tokens), {})
        losses[trial.seed] = math.inf if loss is None else loss
        known = [losses[seed] for seed in seeds if seed in losses]
        mean = sum(known) / len(seeds) if len(known) == len(seeds) else math.inf
        yield spent / pretraining["tokens"] / len(seeds), mean


def _counted(trials: list[Trial]) -> Iterator[tuple[Record, Trial]]:
    for trial in trials:
        for record in trial.counted:
            if record.stage == PRETRAIN and record.status in (FINISHED, DIVERGED):
                yield record, trial


def _first_seeds(seeds: object) -> list[int]:
    """Return the listed seeds, or those with which every arm starts where the number of seeds is decided later."""
    if isinstance(seeds, dict):
        return [*range(1, seeds["until_decided"]["start"] + 1)]
    assert isinstance(seeds, list)
    return seeds


RULES = {"best_by_cost": Rule(("search", "cost"), best_by_cost)}

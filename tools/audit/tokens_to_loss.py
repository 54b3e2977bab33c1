"""Tokens and FLOPs to a held-out loss, from the evaluations of every seed, as ratios to the baseline.

The loss is the declared one, or the lowest that every finished seed of the baseline reached which left the plateau.
Tokens between two evaluations are linear in their logarithm; ratios are differences of mean logarithms.
"""

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tools.audit.inference import Estimate, contrast, holm
from tools.audit.rows import BASELINE, LOSS, Row, Study

QUANTITIES = ("tokens", "flops")


def rows(study: Study) -> Iterator[Row]:
    """Yield how every arm reaches the loss; nothing of a search, or where the loss is no headline metric."""
    loss = _target(study)
    arms = [arm for arm in study.arms if study.pretrained.get(arm) and not _recipe(study, arm).get("pruning")]
    ends = {arm: {s: _reached(each.curve, loss) for s, each in study.pretrained[arm].items()} for arm in arms}
    seen = [at for of in ends.values() for at, inside in of.values() if inside]
    if study.searched or LOSS not in study.headlines or BASELINE not in arms:
        return
    if not seen and not study.document.get("target_loss"):
        return
    amounts = {arm: _amounts(study, arm, ends[arm]) for arm in arms}
    paired = study.document.get("comparison") == "paired"
    ratios = {
        arm: {name: _ratio(amounts[arm][name], amounts[BASELINE][name], paired) for name in QUANTITIES}
        for arm in arms
        if arm != BASELINE
    }
    p_values = [ratios[arm]["tokens"].p if arm in ratios else math.nan for arm in arms]
    for arm, p, adjusted in zip(arms, p_values, holm(p_values)[0], strict=True):
        inside = sorted(at for at, crossed in ends[arm].values() if crossed)
        yield {
            "arm": arm,
            "loss": loss,
            "seeds": len(ends[arm]),
            "reached": sum(math.isfinite(at) for at, _ in ends[arm].values()),
            "before_first": sum(math.isfinite(at) and not crossed for at, crossed in ends[arm].values()),
            "compared": len(amounts[arm]["tokens"]),
            **{name: _geometric_mean(amounts[arm][name]) for name in QUANTITIES},
            **{name: inside[place] if inside else math.nan for name, place in (("first", 0), ("last", -1))},
            **_columns(ratios.get(arm, {})),
            "p": p,
            "p_adjusted": adjusted,
        }


def _target(study: Study) -> float:
    if declared := study.document.get("target_loss"):
        return float(declared)
    stuck, trials = study.stuck.get(BASELINE, ()), study.pretrained.get(BASELINE, {})
    lowest = [min(of.curve.values()) for seed, of in trials.items() if of.finished and of.curve and seed not in stuck]
    return max(lowest, default=-math.inf)


def _reached(curve: Mapping[float, float], loss: float) -> tuple[float, bool]:
    """Return the tokens at which a curve reaches a loss, infinite if never, and whether it is seen to cross it."""
    tokens, losses = np.array(sorted(curve.items())).reshape(-1, 2).T
    below = np.flatnonzero(losses <= loss)
    if not len(below):
        return math.inf, False
    place = int(below[0])
    if place == 0:
        return float(tokens[0]), False
    around = slice(place - 1, place + 1)
    return float(np.exp(np.interp(-loss, -losses[around], np.log(tokens[around])))), True


def _amounts(study: Study, arm: str, ends: Mapping[int, tuple[float, bool]]) -> dict[str, dict[int, float]]:
    """Return tokens and FLOPs by seed that learned; nothing unless each of these is seen to cross."""
    learned = {seed: end for seed, end in ends.items() if seed not in study.stuck.get(arm, ())}
    seen = all(crossed for _, crossed in learned.values())
    tokens = {seed: at for seed, (at, _) in learned.items()} if seen else {}
    whole = round(study.document["pretraining"]["tokens"] * _recipe(study, arm).get("token_share", 1.0))
    flops = float(study.arms[arm]["train_flops"]) / whole
    return {"tokens": tokens, "flops": {seed: at * flops for seed, at in tokens.items()}}


def _recipe(study: Study, arm: str) -> dict[str, Any]:
    recipe: dict[str, Any] = json.loads(study.arms[arm]["candidate"]).get("recipe", {})
    return recipe


def _ratio(values: Mapping[int, float], others: Mapping[int, float], paired: bool) -> Estimate:
    logs = [{seed: math.log(value) for seed, value in sample.items()} for sample in (values, others)]
    return contrast(logs, (1.0, -1.0), (), paired)


def _columns(ratios: Mapping[str, Estimate]) -> Row:
    columns: Row = {}
    for name in QUANTITIES:
        found = ratios.get(name, Estimate()).columns
        names = {"delta": f"{name}_ratio", "low": f"{name}_low", "high": f"{name}_high"}
        columns |= {names[key]: math.exp(value) for key, value in found.items() if key in names}
    return columns


def _geometric_mean(values: Mapping[int, float]) -> float:
    return math.exp(float(np.mean(np.log([*values.values()])))) if values else math.nan

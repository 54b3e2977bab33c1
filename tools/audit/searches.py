"""Searches: candidates by the last rung reached, the audit of the hurdles, and Pareto fronts."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tools.audit.exports import (
    BASELINE,
    DIVERGED,
    FINISHED,
    LOSS,
    PRETRAIN,
    SCORE,
    STOPPED,
    Decision,
    Row,
    Trial,
    finite,
)
from tools.audit.inference import difference, wilson
from tools.audit.rule import Published, Rule
from tools.audit.seed_values import summary
from tools.audit.study import Study
from tools.audit.verdicts import TEXT

DRAWS, FEWEST_FOR_INTERVAL = 1000, 4
Losses = dict[int, dict[int, float]]
"""Held-out loss by rung in tokens, then by seed."""


def candidates(study: Study, _: Published) -> Iterator[Row]:
    """Yield the candidates by the last rung reached, then by the mean difference to the baseline there by seed."""
    losses = {arm: _losses(study, arm) for arm in study.arms}
    ends = {arm: _reached(losses, arm) for arm in study.arms}
    order = sorted(study.arms, key=lambda arm: (-ends[arm][0], ends[arm][1]))
    for rank, arm in enumerate(order, start=1):
        tokens, _excess, values = ends[arm]
        others = losses[BASELINE].get(tokens, {})
        paired = difference(losses[arm].get(tokens, {}), {} if arm == BASELINE else others, paired=True)
        interval = study.interval(paired)
        described = summary(values)
        yield {
            "rank": rank if values else None,
            "arm": arm,
            "tokens": tokens or None,
            "n": described["n"],
            "seeds": " ".join(map(str, values)) or None,
            "held_out_loss": described["mean"],
            "sd": described["sd"],
            **{name: interval[name] for name in ("delta", "low", "high")},
            **_stop(study, arm),
        }


def _losses(study: Study, arm: str) -> Losses:
    found: Losses = {}
    for trial in study.export.of_arm(arm):
        for record in trial.finished(PRETRAIN) if trial.status != DIVERGED else ():
            loss = finite(record.result.get(LOSS))
            if loss is not None:
                found.setdefault(int(record.result["tokens"]), {})[trial.seed] = loss
    return found


def _reached(losses: Mapping[str, Losses], arm: str) -> tuple[int, float, dict[int, float]]:
    """Return the last rung with a reference at one of the arm's seeds, the mean excess over it, and the losses."""
    for tokens in sorted(losses[arm], reverse=True):
        references = losses[BASELINE].get(tokens) or _mean_of_all(losses, tokens)
        shared = {seed: loss for seed, loss in losses[arm][tokens].items() if seed in references}
        if shared:
            return tokens, float(np.mean([loss - references[seed] for seed, loss in shared.items()])), shared
    return 0, 0.0, {}


def _mean_of_all(losses: Mapping[str, Losses], tokens: int) -> dict[int, float]:
    seeds = {seed for at_rung in losses[BASELINE].values() for seed in at_rung}
    by_seed: dict[int, list[float]] = {}
    for of_arm in losses.values():
        for seed, loss in of_arm.get(tokens, {}).items():
            if seed in seeds or not seeds:
                by_seed.setdefault(seed, []).append(loss)
    return {seed: float(np.mean(values)) for seed, values in by_seed.items()}


def _stop(study: Study, arm: str) -> Row:
    """Return the last hurdle that stopped a trial, with the mean value and threshold over its seeds."""
    stops = [t.stopped_by for t in study.export.of_arm(arm) if t.status == STOPPED and t.stopped_by]
    last = max((stop.level for stop in stops), default=-1)
    at_last = [stop for stop in stops if stop.level == last]
    values, thresholds = ([getattr(stop, name) for stop in at_last] for name in ("value", "threshold"))
    known = [[value for value in each if value is not None] for each in (values, thresholds)]
    means = [float(np.mean(each)) if each else None for each in known]
    return {"stopped_at_hurdle": last + 1 or None, "value": means[0], "threshold": means[1]}


@dataclass(frozen=True)
class Ending:
    """A candidate's trial that was trained to the end; values and loss are signed so that lower is better."""

    values: tuple[float | None, ...]
    final: float
    stopped_by: Decision | None


def _cause(stop: Decision) -> str:
    """Return why a stop has no threshold: the value set the hurdle, or a budget ended; empty if it has one."""
    sets = stop.threshold is None and stop.value is not None
    return "end of budget" if stop.at_end_of_budget else "set here" if sets else ""


def audit(study: Study, _: Published) -> Iterator[Row]:
    """Yield, per hurdle and for all, how many stopped trials would have ended better than the survivors."""
    trials = [trial for trial in study.export.trials if trial.arm != BASELINE]
    stops = [trial.stopped_by for trial in trials if trial.status == STOPPED and trial.stopped_by]
    endings = [ending for trial in trials if (ending := _ending(study, trial)) is not None]
    for level, cause in sorted({(stop.level, _cause(stop)) for stop in stops}):
        here = [stop for stop in stops if (stop.level, _cause(stop)) == (level, cause)]
        ranked = not (cause and any(not _cause(stop) and stop.level == level for stop in stops))
        name = f"{level + 1}, {cause}" if cause else str(level + 1)
        tau = _agreement(level, stops, endings) if ranked else (None, None, None, 0)
        yield _audited(name, here, endings, tau)
    yield _audited("all", stops, endings, (None, None, None, 0))


Tau = tuple[float | None, float | None, float | None, int]


def _audited(name: str, here: Sequence[Decision], endings: Sequence[Ending], tau: Tau) -> Row:
    kinds = {(stop.level, _cause(stop)) for stop in here}
    audited = [e.final for e in endings if e.stopped_by and (e.stopped_by.level, _cause(e.stopped_by)) in kinds]
    survivors = sorted(ending.final for ending in endings if ending.stopped_by is None)
    row: Row = {"hurdle": name, "stopped": len(here), "audited": len(audited)}
    row |= dict(zip(("correlation", "tau_low", "tau_high", "n"), tau, strict=True))
    if not (survivors and audited):
        return row | dict.fromkeys(("wrong", "share", "low", "high", "beat_worst", "regret"))
    wrong = sum(final < float(np.median(survivors)) for final in audited)
    low, high = wilson(wrong, len(audited))
    row |= {"wrong": wrong, "share": wrong / len(audited), "low": low, "high": high}
    row |= {"beat_worst": sum(final < survivors[-1] for final in audited)}
    return row | {"regret": max(0.0, survivors[0] - min(audited))}


def _ending(study: Study, trial: Trial) -> Ending | None:
    """Return the ending of a trial; its loss is without the baseline's deviation at the same seed."""
    hurdle = study.document["pretraining"]["hurdle"]
    sign = -1.0 if hurdle.get("probe") or hurdle["kind"] == "zero_cost" else 1.0
    last = [label for label in trial.labels if label.startswith(f"{PRETRAIN}@")][-1]
    own = {t.seed: t.final_loss for t in study.export.of_arm(BASELINE) if t.status == FINISHED and t.final_loss}
    deviation = own[trial.seed] - float(np.mean([*own.values()])) if trial.seed in own else 0.0
    values = tuple(None if one.value is None else sign * one.value for one in trial.decisions)
    if trial.status == FINISHED and trial.final_loss is not None:
        return Ending(values, trial.final_loss - deviation, None)
    if trial.status != STOPPED or not trial.audit:
        return None
    ends = [record.result[LOSS] for record in trial.audit if record.label == last and record.status == FINISHED]
    final = math.inf if any(record.status == DIVERGED for record in trial.audit) else ends[-1] if ends else None
    return None if final is None else Ending(values, final - deviation, trial.stopped_by)


def _agreement(level: int, stops: Sequence[Decision], endings: Sequence[Ending]) -> Tau:
    """Return Kendall's tau of the values at a hurdle with the final losses, audited trials weighted for the stopped.

    The interval is the bootstrap within finished and audited trials; tied pairs are left out.
    """
    measured = [ending for ending in endings if len(ending.values) > level and ending.values[level] is not None]
    levels = [stop.level for stop in stops]
    audited = [ending.stopped_by.level for ending in endings if ending.stopped_by]
    weights = np.array(
        [
            levels.count(e.stopped_by.level) / audited.count(e.stopped_by.level) if e.stopped_by else 1.0
            for e in measured
        ]
    )
    agree = _order([e.values[level] or 0.0 for e in measured]) * _order([e.final for e in measured])

    def tau(weight: np.ndarray) -> float:
        untied = weight @ np.abs(agree) @ weight
        return float(weight @ agree @ weight / untied) if untied else math.nan

    groups = [[at for at, e in enumerate(measured) if bool(e.stopped_by) == audit] for audit in (False, True)]
    groups = [group for group in groups if group]
    estimate = tau(weights) if len(measured) > 1 else math.nan
    if math.isnan(estimate):
        return None, None, None, len(measured)
    if len(measured) < FEWEST_FOR_INTERVAL or min(map(len, groups)) < 2:
        return estimate, None, None, len(measured)
    random = np.random.default_rng(0)
    drawn = []
    for _ in range(DRAWS):
        places = np.concatenate([random.choice(group, len(group)) for group in groups])
        drawn.append(tau(np.bincount(places, minlength=len(measured)) * weights))
    low, high = np.nanquantile(drawn, [0.025, 0.975])
    return estimate, float(low), float(high), len(measured)


def _order(values: Sequence[float]) -> np.ndarray:
    """Return 1 where the first of a pair is larger, -1 where the second is, else 0."""
    return np.greater.outer(values, values).astype(float) - np.less.outer(values, values)


def pareto(study: Study, published: Published) -> Iterator[Row]:
    """Yield every arm's result and cost, and whether another arm dominates it."""
    costs = {arm.name: arm.costs for arm in study.export.arms}
    for cost, metric in dict.fromkeys((row["cost"], row["metric"]) for row in published):
        prices = {arm: costs[arm][cost] for arm in study.arms if cost in costs[arm]}
        values = {arm: value for arm in prices if (value := _at_baselines_seeds(study, arm, metric)) is not None}
        sign = 1.0 if metric == LOSS else -1.0
        points = {arm: (sign * values[arm], prices[arm]) for arm in values}
        for arm, point in points.items():
            better = any(r[0] <= point[0] and r[1] <= point[1] and r != point for r in points.values())
            row = {"cost": cost, "metric": metric, "arm": arm, "price": prices[arm], "value": values[arm]}
            yield {**row, "front": not better}


def _at_baselines_seeds(study: Study, arm: str, metric: str) -> float | None:
    """Return an arm's mean; of a search that over the baseline's seeds, with the baseline's shift between them."""
    values = study.of(arm, metric)
    if not study.export.is_search:
        return summary(values)["mean"]  # type: ignore[no-any-return]
    reference = study.of(BASELINE, metric)
    shared = sorted(values.keys() & reference.keys())
    if not shared or metric in study.below_reference or (metric == SCORE and metric not in study.metrics):
        return None
    shift = float(np.mean([*reference.values()])) - float(np.mean([reference[seed] for seed in shared]))
    return float(np.mean([values[seed] for seed in shared])) + shift


RULES = {
    "candidates": Rule(("arm",), candidates, {"changes": TEXT, "status": TEXT}),
    "audit": Rule(("hurdle",), audit),
    "pareto": Rule(("cost", "metric", "arm"), pareto),
}

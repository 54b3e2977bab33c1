"""Gaps in held-out loss at equal progress since the exit from the plateau that all training curves share.

A curve stays at a common level up to its exit and follows a power law with a floor from there (change-point
regression, Quandt 1958); every recorded point is tried as the exit, BIC decides whether there is one. Progress since
the exit is counted in tokens, and in the sum of the learning rates of all updates.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from tools.audit.exports import BASELINE, FINISHED, PRETRAIN, Row, Trial
from tools.audit.inference import ALPHA, Estimate, difference
from tools.audit.rule import Published, Rule
from tools.audit.study import Study

EXPONENTS = np.geomspace(0.1, 8.0, 12)
MOST_POINTS, FEWEST_POINTS, ROUNDS, PLACES = 200, 20, 50, 24
ARMS_DRAWN = 8
"""Arms of the figure of gaps: one per colour."""
FIRST_LEVELS = (0.95, 0.9, 0.8, 0.7, 0.6, 0.5)
"""Quantiles of all losses at which the search for the level starts, the highest first."""
SETTLED = 1e-9
RECIPE = {
    "sequence_length": 128,
    "batch_sequences": 128,
    "peak_learning_rate": 5e-4,
    "schedule": {"kind": "linear"},
    "token_share": 1.0,
}
"""What an exported candidate leaves out where it has the recipe's default."""
WARMUP_TOKENS = 163_840_000
KNOTS = "the report interpolates the sum of learning rates between 4,096 updates, the audit adds all of them"


class TrainingCurve:
    """One training curve, and its least-squares exit from a level."""

    def __init__(self, points: Mapping[int, float]) -> None:
        at = sorted(points)
        parts = np.array_split(np.array(at, dtype=float), min(MOST_POINTS, len(at)))
        losses = np.array_split(np.array([points[each] for each in at]), min(MOST_POINTS, len(at)))
        self.tokens = np.array([part.mean() for part in parts])
        self.losses = np.array([part.mean() for part in losses])

    @cached_property
    def shapes(self) -> np.ndarray:
        """The share of the drop by exponent, exit and point: 0 up to the exit."""
        ratios = np.maximum(self.tokens[None, :] / self.tokens[:-2, None], 1.0)
        return np.asarray(1.0 - ratios[None] ** -EXPONENTS[:, None, None])

    @cached_property
    def _products(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.shapes.sum(axis=2), (self.shapes**2).sum(axis=2), self.shapes @ self.losses

    def exit_from(self, level: float) -> tuple[int, int, bool, bool]:
        """Return the first point at the level, the last one, whether the curve leaves it, and whether it stayed."""
        last = len(self.losses) - 1
        reached = np.flatnonzero(self.losses <= level)
        if not reached.size or reached[0] > last - 2:
            start = int(reached[0]) if reached.size else 0
            return start, last, False, not reached.size
        start = int(reached[0])
        sums, squares, products = self._products
        drop = np.maximum(level * sums - products, 0.0)
        explained = (drop**2 / np.maximum(squares, 1e-300)).max(axis=0)[start:]
        best, points = int(explained.argmax()), last + 1 - start
        flat = float(((self.losses[start:] - level) ** 2).sum())
        leaves = _gain(flat, flat - explained[best], points) > 3 * math.log(points)  # exit, exponent and drop
        stayed = not leaves or _gain(flat - explained[0], flat - explained[best], points) > math.log(points)
        return start, start + best if leaves else last, bool(leaves), bool(stayed)


def _gain(without: float, with_more: float, points: int) -> float:
    """Return by how much twice the log-likelihood grows with further parameters."""
    least = 1e-12 * max(without, 1e-300)
    return points * math.log(max(without, least) / max(with_more, least))


def plateau_of(curves: Mapping[str, TrainingCurve]) -> tuple[float, dict[str, float | None]] | None:
    """Return the level that the curves share and each one's exit in tokens; None without a plateau."""
    if not curves:
        return None
    everything = np.concatenate([curve.losses for curve in curves.values()])
    for level in np.quantile(everything, FIRST_LEVELS).tolist():
        found = _settled(curves, level)
        if found is not None:
            return found
    return None


def _settled(curves: Mapping[str, TrainingCurve], level: float) -> tuple[float, dict[str, float | None]] | None:
    fits = {}
    for _ in range(ROUNDS):
        fits = {name: curve.exit_from(level) for name, curve in curves.items()}
        on = [curves[name].losses[start : end + 1] for name, (start, end, _, stayed) in fits.items() if stayed]
        if not on:
            return None
        mean = float(np.concatenate(on).mean())
        if abs(mean - level) <= SETTLED * abs(level):
            break
        level = mean
    exits = {name: float(curves[name].tokens[end]) if leaves else None for name, (_, end, leaves, _) in fits.items()}
    return level, exits


@dataclass(frozen=True)
class Progress:
    """Progress that grows with tokens, linear between its knots."""

    tokens: np.ndarray
    values: np.ndarray

    def at(self, tokens: float) -> float:
        """Return the progress after so many tokens."""
        return float(np.interp(tokens, self.tokens, self.values))

    def tokens_at(self, value: float) -> float:
        """Return the first tokens at which the progress is so large."""
        return float(np.interp(value, self.values, self.tokens))


def recipe_of(study: Study, arm: str) -> Row:
    """Return the recipe of an arm, with the defaults that its export leaves out."""
    found = next(each.candidate for each in study.export.arms if each.name == arm)
    return {**RECIPE, **found.get("recipe", {})}


def sum_of_rates(study: Study, arm: str) -> Progress:
    """Return the sum of the learning rates of all updates so far, by tokens."""
    recipe = recipe_of(study, arm)
    per_update = recipe["sequence_length"] * recipe["batch_sequences"]
    budget = max(1, round(study.document["pretraining"]["tokens"] * recipe["token_share"]))
    schedule = recipe["schedule"]
    arguments = (per_update, -(-budget // per_update), schedule["kind"], schedule.get("warmup_tokens", WARMUP_TOKENS))
    return _sum_of_rates(*arguments, recipe["peak_learning_rate"])


@lru_cache
def _sum_of_rates(per_update: int, updates: int, kind: str, warmup: int, peak: float) -> Progress:
    seen = np.arange(1, updates + 1) * float(per_update)
    rates = peak * np.minimum(1.0, seen / max(warmup, 1))
    if kind == "linear":
        rates = rates * (1.0 - seen / ((updates + 1) * per_update))
    return Progress(np.concatenate([[0.0], seen]), np.concatenate([[0.0], np.cumsum(rates)]))


@dataclass(frozen=True)
class Run:
    """A held-out curve from its exit on."""

    curve: Mapping[int, float]
    left_at: float
    progress: Progress

    @property
    def since(self) -> float:
        """Progress from the exit to the end."""
        return self.progress.at(max(self.curve)) - self.progress.at(self.left_at)

    def read(self, progress: float) -> float | None:
        """Return the loss at some progress, linear in the logarithm of tokens; None before the first point."""
        tokens, at = self.progress.tokens_at(self.progress.at(self.left_at) + progress), sorted(self.curve)
        if tokens < at[0] * (1 - 1e-9):
            return None
        return float(np.interp(math.log(tokens), np.log(at), [self.curve[each] for each in at]))


class Gaps:
    """The finished trials, their common plateau, and the pairs of runs that have left it."""

    def __init__(self, study: Study) -> None:
        self.study = study
        trials = [t for t in study.export.trials if t.status == FINISHED and t.finished(PRETRAIN)]
        self.trials = {(trial.arm, trial.seed): trial for trial in trials}
        curves = {trial.name: _train_curve(trial) for trial in trials}
        long = {name: TrainingCurve(curve) for name, curve in curves.items() if len(curve) >= FEWEST_POINTS}
        found = plateau_of(long)
        self.level, self.exits = found if found else (math.nan, {})

    def exits_of(self, arm: str) -> list[float | None]:
        """Return the exits of an arm's seeds."""
        return [self.exits.get(trial.name) for (of, _), trial in sorted(self.trials.items()) if of == arm]

    def pairs(self, arm: str, kind: str) -> list[tuple[Run, Run]]:
        """Return the runs of an arm and of the baseline by seed, where both have left the plateau."""
        seeds = sorted(seed for of, seed in self.trials if of == arm and (BASELINE, seed) in self.trials)
        both = [(self.trials[arm, seed], self.trials[BASELINE, seed]) for seed in seeds]
        left = [pair for pair in both if all(self.exits.get(trial.name) is not None for trial in pair)]
        return [(self._run(one, kind), self._run(other, kind)) for one, other in left]

    def _run(self, trial: Trial, kind: str) -> Run:
        curve, left_at = trial.held_out, self.exits[trial.name]
        assert left_at is not None
        end = float(max(curve))
        tokens = Progress(np.array([0.0, end]), np.array([0.0, end]))
        return Run(curve, left_at, tokens if kind == "tokens" else sum_of_rates(self.study, trial.arm))


def _train_curve(trial: Trial) -> dict[int, float]:
    points = [point for record in trial.finished(PRETRAIN) for point in record.result["train_curve"]]
    return {int(at): float(loss) for at, loss in points if math.isfinite(loss)}


def _gap(study: Study, losses: list[tuple[float | None, float | None]], suffix: str) -> Row:
    known = {at: pair for at, pair in enumerate(losses) if None not in pair}
    first, second = ({at: float(pair[side] or 0.0) for at, pair in known.items()} for side in (0, 1))
    found = difference(first, second, study.paired) if known else Estimate()
    low, high = found.interval(ALPHA) if known else (None, None)
    delta = found.value if known else None
    return {f"n_{suffix}": len(known), f"delta_{suffix}": delta, f"low_{suffix}": low, f"high_{suffix}": high}


def aligned_gaps(study: Study, _: Published) -> Iterator[Row]:
    """Yield every arm's gap at the ends and at equal progress since the exits, by the test that decides."""
    gaps = Gaps(study)
    for arm in study.rivals:
        exits = gaps.exits_of(arm)
        left = [at for at in exits if at is not None]
        row: Row = {"arm": arm, "exits": len(left), "never_left": len(exits) - len(left), "level": gaps.level}
        row |= {"exit_first": round(min(left)) if left else None, "exit_last": round(max(left)) if left else None}
        ends = [tuple(run.curve[max(run.curve)] for run in pair) for pair in gaps.pairs(arm, "tokens")]
        row |= _gap(study, [(one, other) for one, other in ends], "raw")
        for kind in ("tokens", "rate"):
            pairs = [(pair, min(run.since for run in pair)) for pair in gaps.pairs(arm, kind)]
            row |= _gap(study, [(one.read(at), other.read(at)) for (one, other), at in pairs if at > 0], kind)
        if exits:
            yield row


def gap_curves(study: Study, published: Published) -> Iterator[Row]:
    """Yield the mean gap by progress, at 24 places up to where the first of all runs ends, of the first arms.

    Progress is printed as a whole number, and the row is the published one within 1 of it.
    """
    gaps = Gaps(study)
    recipe = recipe_of(study, BASELINE)
    rate = recipe["peak_learning_rate"] / (recipe["sequence_length"] * recipe["batch_sequences"])
    drawn = [arm for arm in study.rivals if gaps.pairs(arm, "tokens") or gaps.pairs(arm, "rate")][:ARMS_DRAWN]
    for arm in drawn:
        for kind, unit in (("tokens", 1.0), ("rate", rate)):
            pairs = gaps.pairs(arm, kind)
            end = min((run.since for pair in pairs for run in pair), default=0.0)
            for at in np.linspace(0, end, PLACES + 1)[1:].tolist() if pairs else ():
                read = [(one.read(at), other.read(at)) for one, other in pairs]
                known = [first - second for first, second in read if first is not None and second is not None]
                if len(known) == len(read):
                    printed = [int(r["progress"]) for r in published if (r["arm"], r["by"]) == (arm, kind)]
                    near = [each for each in printed if abs(each - at / unit) <= 1]
                    named = {"arm": arm, "by": kind, "n": len(pairs), "progress": (near or [round(at / unit)])[0]}
                    yield {**named, "gap": math.fsum(known) / len(known)}


RULES = {
    "aligned_gaps": Rule(
        ("arm",), aligned_gaps, allowed=dict.fromkeys(("delta_rate", "low_rate", "high_rate"), 1e-6), why=KNOTS
    ),
    "aligned_gaps_curve": Rule(("arm", "by", "progress"), gap_curves, allowed={"gap": 1e-6}, why=KNOTS),
}

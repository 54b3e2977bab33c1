"""Audit of the hurdles: the share of wrong stops, rank correlation of early and final value, and regret.

The final value is the search's first objective, the held-out loss or the score. A stop is wrong if the trial, trained
to the end of its budget, is better than the median survivor. The audited trials are a sample of all trials stopped at
their hurdle and are weighted accordingly. Trials whose values set a hurdle stop there without a decision and have a
row of their own. Final values at several seeds are compared after subtracting the baseline's deviation at that seed.
Intervals: Wilson 1927 for shares, the stratified bootstrap (Efron 1979) for Kendall's rank correlation; 95% both.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from reports.number_format import NOTHING, UNKNOWN, fixed
from reports.section import Section, decimal, number_text, one_table
from reports.statistics.objectives import Objectives
from reports.statistics.results import Results
from reports.statistics.trial_status import Stop, stop_of
from reports.table import Column, Row, Table, number, words
from steeplechase.analysis.proportions import wilson
from steeplechase.configuration.arm import BASELINE
from steeplechase.configuration.metrics import SCORE
from steeplechase.configuration.stage_label import FINE_TUNE, StageLabel, pretraining_marks
from steeplechase.ledger.records import Record, TrialStatus, final_loss_of
from steeplechase.ledger.trial_history import TrialHistory, score_of

DRAWS, LEAST_FOR_INTERVAL = 1000, 4
ALL = "all"


@dataclass(frozen=True)
class Ending:
    """A trial that was trained to the end of its budget; all values are signed so that lower is better."""

    values: tuple[float | None, ...]
    """Its value at each hurdle that decided on it."""
    final: float
    """Final value minus the baseline's deviation at the same seed; infinite if the trial diverged."""
    stopped_at: Stop | None = None


def audit_table(results: Results) -> Table:
    """Return one row per hurdle that stopped a trial and one for all hurdles; no rows without an audited trial."""
    return Table.of("audit", _rows(results))


def _rows(results: Results) -> Iterator[Row]:
    endings = tuple(_endings(results))
    if not any(trial.stopped_at is not None for trial in endings):
        return
    stops = [stop for trial in _candidate_trials(results) if (stop := stop_of(trial)) is not None]
    for stop in sorted(set(stops)):
        name = f"{stop.level + 1}, {stop.cause}" if stop.cause else stop.level + 1
        yield _row(name, [stop], stops, endings)
    yield _row(ALL, sorted(set(stops)), stops, endings)


def _candidate_trials(results: Results) -> Iterator[TrialHistory]:
    return (history for history in results.snapshot.histories if history.trial.arm != BASELINE)


def _endings(results: Results) -> Iterator[Ending]:
    """Yield the ending of every trial that was trained to the end of its budget."""
    sign = -1.0 if results.experiment.pretraining.hurdle.larger_is_better else 1.0
    added = _added_by_seed(results)
    for history in _candidate_trials(results):
        values = tuple(None if decision.value is None else sign * decision.value for decision in history.decisions)
        final, stop = None, None
        if history.status is TrialStatus.FINISHED:
            final = _final_value(results, history.records)
        elif history.audit and (stop := stop_of(history)) is not None:
            diverged = any(record.status.value == "diverged" for record in history.audit)
            final = float("inf") if diverged else _final_value(results, history.audit)
        if final is not None:
            less = added.get(history.trial.seed, 0.0)
            yield Ending(values, final - less, stop)


def _final_value(results: Results, records: Sequence[Record]) -> float | None:
    """Return a trial's first objective at the end of its budget, signed so that lower is better; None without it."""
    labels = results.snapshot.labels
    if results.once(Objectives).first.name == SCORE:
        scored = results.scored_tasks
        parsed = {label: StageLabel.parse(label) for label in labels}
        score = score_of(records, [n for n, each in parsed.items() if each.kind == FINE_TUNE and each.task in scored])
        return None if score is None else -score
    last = next(reversed(pretraining_marks(labels)), None)
    ends = [final_loss_of(record) for record in records if record.label == last]
    return ends[-1] if ends else None


def _added_by_seed(results: Results) -> dict[int, float]:
    """Return by seed the baseline's final value minus its mean over seeds; only seeds that the baseline finished."""
    ends = {
        history.trial.seed: final
        for history in results.trials.get(BASELINE, ())
        if history.status is TrialStatus.FINISHED and (final := _final_value(results, history.records)) is not None
    }
    return {seed: final - fmean(ends.values()) for seed, final in ends.items()}


def _row(name: int | str, stops_here: list[Stop], stops: list[Stop], endings: tuple[Ending, ...]) -> Row:
    audited = [ending for ending in endings if ending.stopped_at in stops_here]
    survivors = sorted(ending.final for ending in endings if ending.stopped_at is None)
    known = bool(survivors and audited)
    wrong = sum(ending.final < median(survivors) for ending in audited) if known else None
    low, high = (None, None) if wrong is None else wilson(wrong, len(audited))
    best = min((ending.final for ending in audited), default=float("inf"))
    one_row = len(stops_here) == 1 and not (
        stops_here[0].cause and Stop(stops_here[0].level) in stops
    )  # one hurdle can have two rows
    tau, tau_low, tau_high, n = _agreement(stops_here[0].level, stops, endings) if one_row else (None, None, None, 0)
    return {
        "hurdle": name,
        "stopped": sum(stop in stops_here for stop in stops),
        "audited": len(audited),
        "wrong": wrong,
        "share": None if wrong is None else wrong / len(audited),
        "low": low,
        "high": high,
        "beat_worst": sum(ending.final < survivors[-1] for ending in audited) if known else None,
        "correlation": tau,
        "tau_low": tau_low,
        "tau_high": tau_high,
        "n": n,
        "regret": max(0.0, survivors[0] - best) if known else None,
    }


def _agreement(
    level: int, stops: list[Stop], endings: tuple[Ending, ...]
) -> tuple[float | None, float | None, float | None, int]:
    """Return Kendall's tau of the values at a hurdle with the final values, its interval, and the trials."""
    measured = [
        (ending, value)
        for ending in endings
        if len(ending.values) > level and (value := ending.values[level]) is not None
    ]
    audited = [ending.stopped_at.level for ending in endings if ending.stopped_at is not None]
    levels = [stop.level for stop in stops]
    weights = [
        1.0
        if ending.stopped_at is None
        else levels.count(ending.stopped_at.level) / audited.count(ending.stopped_at.level)
        for ending, _ in measured
    ]
    pairs = [(value, ending.final) for ending, value in measured]
    strata = [int(ending.stopped_at is not None) for ending, _ in measured]
    return (*weighted_tau(pairs, weights, strata), len(measured))


def weighted_tau(
    pairs: Sequence[tuple[float, float]], weights: Sequence[float], strata: Sequence[int]
) -> tuple[float | None, float | None, float | None]:
    """Return the weighted share of concordant minus discordant pairs of trials, with its 95% bootstrap interval.

    Tied pairs are left out. None if every pair is tied; no interval below four trials or with a stratum of one.
    """
    import numpy as np

    if len(pairs) < 2:
        return None, None, None
    values, finals = np.array(pairs).T
    higher = [
        (column[:, None] > column).astype(int) - (column[:, None] < column).astype(int) for column in (values, finals)
    ]
    agree = (higher[0] * higher[1]).astype(float)
    random, groups = np.random.default_rng(0), np.array(strata)
    strata_members = [np.flatnonzero(groups == stratum) for stratum in np.unique(groups)]

    def tau(drawn: "np.ndarray[tuple[int, int], np.dtype[np.float64]]") -> list[float]:
        """Return the statistic at each row of weights [draws trials]; NaN where all pairs are tied."""
        net, untied = (((drawn @ signs) * drawn).sum(1) for signs in (agree, np.abs(agree)))
        return [float(x / y) if y else float("nan") for x, y in zip(net, untied, strict=True)]

    trial_weights = np.array(weights)
    (estimate,) = tau(trial_weights[None])
    if not np.isfinite(estimate):
        return None, None, None
    if (
        len(pairs) < LEAST_FOR_INTERVAL or min(map(len, strata_members)) < 2
    ):  # a stratum of one has no spread under the bootstrap
        return estimate, None, None
    draws = (np.concatenate([random.choice(group, len(group)) for group in strata_members]) for _ in range(DRAWS))
    counts = np.array([np.bincount(draw, minlength=len(pairs)) for draw in draws])
    low, high = np.nanquantile(tau(counts * trial_weights), [0.025, 0.975])
    return estimate, float(low), float(high)


def audit_sentence(results: Results) -> str:
    """Return the audit's sentence of the finding; empty without an audited trial."""
    rows = results.once(audit_table).rows
    if not rows:
        return ""
    first, total = rows[0], rows[-1]
    counted = f"The audit trained {total['audited']} of {total['stopped']} stopped trials to the end of their budget"
    if total["wrong"] is None:
        return f"{counted}, but no trial passed all hurdles to compare them with."
    share = " to ".join(fixed(100 * (number(total[bound]) or 0.0), 0) for bound in ("low", "high"))
    wrong_stops = f"{total['wrong']} ended better than the median survivor (95% interval: {share}% of stops wrong)"
    hurdle = str(first["hurdle"]).partition(",")[0]
    compared = results.experiment.pretraining.hurdle.compared
    objective = results.once(Objectives).first
    final = "score" if objective.name == SCORE else "loss"
    ranks = f"; rank correlation of the {compared} at hurdle {hurdle} with the final {final} {_tau(first)}"
    correlation = ranks if first["correlation"] is not None else ""
    return f"{counted}: {wrong_stops}{correlation}; regret {in_units(results, number(total['regret']) or 0.0)}."


def in_units(results: Results, value: float) -> str:
    """Return a value of the first objective with its unit: nats of a loss, points of a score."""
    if results.once(Objectives).first.name == SCORE:
        return f"{fixed(abs(value), 1)} points"
    return f"{fixed(value, 4)} nats"


def _share(row: Row) -> str:
    share, low, high = (number_text(row[name], 2) for name in ("share", "low", "high"))
    return NOTHING if row["share"] is None else f"{share} [{low}, {high}]"


def _tau(row: Row) -> str:
    """Return `τ [low, high] (n = 3)`; nothing without a correlation."""
    tau, low, high = (number_text(row[name], 2) for name in ("correlation", "tau_low", "tau_high"))
    bounds = UNKNOWN if row["tau_low"] is None else f"{low}, {high}"
    return NOTHING if row["correlation"] is None else f"{tau} [{bounds}] (n = {row['n']})"


SURVIVORS = "better than survivors"


def _columns(results: Results) -> Iterator[Column]:
    yield from (words("hurdle"), Column("stopped"), Column("audited"))
    yield Column("the median", SURVIVORS, read=decimal("wrong", 0))
    yield Column("the worst", SURVIVORS, read=decimal("beat_worst", 0))
    yield from (Column("wrong stops [95%]", read=_share), Column("τ hurdle, final [95%] (n)", read=_tau))
    scored = results.once(Objectives).first.name == SCORE
    yield Column("regret, points" if scored else "regret, nats", read=decimal("regret", 1 if scored else 4))


TITLE = "Audit of the hurdles: stopped trials trained to the end"
SECTION = Section(
    "audit",
    one_table("audit", lambda results: results.once(audit_table).rows, TITLE, _columns),
    lambda results: results.is_search,
)

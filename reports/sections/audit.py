"""Audit of the hurdles: the share of wrong stops, and regret.

The final value is the search's first objective, the held-out loss or the score. A stop is wrong if the trial, trained
to the end of its budget, is better than the median survivor. Trials whose values set a hurdle stop there without a
decision and have a row of their own. Final values at several seeds are compared after subtracting the baseline's
deviation at that seed. The 95% interval of the share is Wilson's (1927).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from reports.columns import decimal, number_text
from reports.grid import Column, shown, words
from reports.number_format import NOTHING, fixed
from reports.section import Content, Section
from reports.statistics.evidence import Evidence
from reports.statistics.objectives import Objectives
from reports.statistics.results import Results
from reports.statistics.trial_status import Stop, stop_of
from reports.table import Row, Table, number
from steeplechase.analysis.proportions import wilson
from steeplechase.configuration.arm import BASELINE
from steeplechase.configuration.metrics import SCORE
from steeplechase.configuration.stage_label import FINE_TUNE, StageLabel, pretraining_marks
from steeplechase.ledger.records import Record, TrialStatus, final_loss_of
from steeplechase.ledger.selected_settings import score_of
from steeplechase.ledger.trial_history import TrialHistory

ALL = "all"


@dataclass(frozen=True)
class Ending:
    """A trial that was trained to the end of its budget; all values are signed so that lower is better."""

    final: float
    """Final value minus the baseline's deviation at the same seed; infinite if the trial diverged."""
    measured: float
    """Final value without that subtraction."""
    stopped_at: Stop | None = None


def audit_table(results: Results) -> Table:
    """Return one row per hurdle that stopped a trial and one for all hurdles; no rows without an audited trial."""
    return Table.of("audit", _rows(results))


def _rows(results: Results) -> Iterator[Row]:
    endings = tuple(trial for _, trial in _endings(results))
    if not any(trial.stopped_at is not None for trial in endings):
        return
    stops = [stop for trial in _candidate_trials(results) if (stop := stop_of(trial)) is not None]
    for stop in sorted(set(stops)):
        name = f"{stop.level + 1}, {stop.cause}" if stop.cause else stop.level + 1
        yield _row(name, [stop], stops, endings)
    yield _row(ALL, sorted(set(stops)), stops, endings)


def _candidate_trials(results: Results) -> Iterator[TrialHistory]:
    return (history for history in results.snapshot.histories if history.trial.arm != BASELINE)


def _endings(results: Results) -> Iterator[tuple[str, Ending]]:
    """Yield the name and the ending of every trial that was trained to the end of its budget."""
    added = _added_by_seed(results)
    for history in _candidate_trials(results):
        final, stop = None, None
        if history.status is TrialStatus.FINISHED:
            final = _final_value(results, history.records)
        elif history.audit and (stop := stop_of(history)) is not None:
            diverged = any(record.status.value == "diverged" for record in history.audit)
            final = float("inf") if diverged else _final_value(results, history.audit)
        if final is not None:
            less = added.get(history.trial.seed, 0.0)
            yield history.trial.name, Ending(final - less, final, stop)


def _final_value(results: Results, records: Sequence[Record]) -> float | None:
    """Return a trial's first objective at the end of its budget, signed so that lower is better; None without it."""
    labels = results.snapshot.labels
    if results.once(Objectives).first.name == SCORE:
        scored = results.once(Objectives).scored_tasks
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


def better_than_survivors(results: Results) -> tuple[tuple[str, Ending], ...]:
    """Return the audited trials whose final value is better than every survivor's, the best first."""
    endings = tuple(_endings(results))
    survivors = [ending.final for _, ending in endings if ending.stopped_at is None]
    better = (
        named
        for named in endings
        if named[1].stopped_at is not None and survivors and named[1].final < min(survivors)
    )
    return tuple(sorted(better, key=lambda named: (named[1].final, named[0])))


def _row(name: int | str, stops_here: list[Stop], stops: list[Stop], endings: tuple[Ending, ...]) -> Row:
    audited = [ending for ending in endings if ending.stopped_at in stops_here]
    survivors = sorted(ending.final for ending in endings if ending.stopped_at is None)
    known = bool(survivors and audited)
    wrong = sum(ending.final < median(survivors) for ending in audited) if known else None
    low, high = (None, None) if wrong is None else interval_of_share(wrong, len(audited))
    best = min((ending.final for ending in audited), default=float("inf"))
    return {
        "hurdle": name,
        "stopped": sum(stop in stops_here for stop in stops),
        "audited": len(audited),
        "wrong": wrong,
        "share": None if wrong is None else wrong / len(audited),
        "low": low,
        "high": high,
        "beat_worst": sum(ending.final < survivors[-1] for ending in audited) if known else None,
        "regret": max(0.0, survivors[0] - best) if known else None,
    }


def interval_of_share(hits: int, trials: int) -> tuple[float | None, float | None]:
    """Return the 95% Wilson interval of a share; None without trials."""
    return wilson(hits, trials) if trials else (None, None)


def audit_sentence(results: Results) -> str:
    """Return the audit's sentence of the finding; empty without an audited trial."""
    rows = results.once(audit_table).rows
    if not rows:
        return ""
    total = rows[-1]
    counted = f"The audit trained {total['audited']} of {total['stopped']} stopped trials to the end of their budget"
    if total["wrong"] is None:
        return f"{counted}, but no trial passed all hurdles to compare them with."
    share = " to ".join(fixed(100 * (number(total[bound]) or 0.0), 0) for bound in ("low", "high"))
    wrong_stops = f"{total['wrong']} ended better than the median survivor (95% interval: {share}% of stops wrong)"
    return f"{counted}: {wrong_stops}; regret {in_units(results, number(total['regret']) or 0.0)}."


def in_units(results: Results, value: float) -> str:
    """Return a value of the first objective with its unit: nats of a loss, points of a score."""
    if results.once(Objectives).first.name == SCORE:
        return f"{fixed(abs(value), 1)} points"
    return f"{fixed(value, 4)} nats"


def _count(name: str) -> Callable[[Row], str]:
    return lambda row: NOTHING if row[name] is None else str(row[name])


def _share(row: Row) -> str:
    share, low, high = (number_text(row[name], 2) for name in ("share", "low", "high"))
    return NOTHING if row["share"] is None else f"{share} [{low}, {high}]"


SURVIVORS = "better than survivors:"


def _columns(results: Results) -> Iterator[Column]:
    yield from (words("hurdle"), Column("stopped"), Column("audited"))
    yield Column("the median", SURVIVORS, read=_count("wrong"))
    yield Column("the worst", SURVIVORS, read=_count("beat_worst"))
    yield Column("wrong stops [95%]", read=_share)
    scored = results.once(Objectives).first.name == SCORE
    yield Column("regret, points" if scored else "regret, nats", read=decimal("regret", 1 if scored else 4))


def _content(evidence: Evidence) -> Content:
    rates = evidence.results.once(audit_table)
    title = "Audit of the hurdles: stopped trials trained to the end"
    return Content(rates.filled, shown("audit", title, [*_columns(evidence.results)], rates.rows))


SECTION = Section("audit", _content, lambda evidence: evidence.results.is_search)

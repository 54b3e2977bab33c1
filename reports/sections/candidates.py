"""A search's candidates, ranked by the furthest token mark and by the paired difference to the baseline there."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import fmean, stdev

from analysis.effects import Difference, paired
from configuration.arm import BASELINE
from configuration.stage_label import PRETRAIN
from foundation.schema import JsonValue, canonical_text
from ledger.records import ArmRow, TrialStatus, with_results
from ledger.snapshot import TrialHistory
from ledger.stage_results import PretrainResult, finite
from reports.grid import Cell, Column, Grid, grid, with_notes
from reports.number_format import NOTHING, UNKNOWN, distinct, fixed, short
from reports.section import Content, Section
from reports.sections.difference_cells import difference_cell
from reports.sections.trial_status import status_of
from reports.statistics.evidence import Evidence
from reports.statistics.results import Results
from reports.table import Row, Table, number, table

LOSS_DECIMALS = 4

Losses = Mapping[int, Mapping[int, float]]
"""Held-out loss by mark in tokens, then by pretraining seed."""


@dataclass(frozen=True)
class Reach:
    """The furthest mark at which a candidate can be ranked, with its losses there at the seeds that count."""

    tokens: int
    losses: Mapping[int, float]
    excess: float
    """By how much the losses exceed what they are compared with at the same seeds, on the mean."""


def candidates_table(results: Results) -> Table:
    """Return the candidates by how far they came, then by their difference to the baseline there, paired by seed.

    A candidate counts at the seeds at which the baseline reached its mark, so that what a seed adds to all results
    cancels. At a mark that the baseline never reached, candidates are compared with the mean of all who did, at each
    of the baseline's seeds. Without such a seed, or a finite loss, a candidate has no rank.
    """
    columns = (
        "rank arm changes tokens n seeds held_out_loss sd delta low high stopped_at_hurdle value threshold status"
    )
    return table("candidates", columns, _rows(results))


def _rows(results: Results) -> Iterator[Row]:
    losses = {arm.name: _losses(results, arm.name) for arm in results.arms}
    reached = {arm.name: _reach(losses, arm.name) for arm in results.arms}

    def order(arm: ArmRow) -> tuple[int, float]:
        reach = reached[arm.name]
        return (0, 0.0) if reach is None else (-reach.tokens, reach.excess)

    for rank, arm in enumerate(sorted(results.arms, key=order), start=1):
        reach = reached[arm.name]
        values = [*reach.losses.values()] if reach else []
        found = (
            Difference() if reach is None or arm.name == BASELINE else _to_baseline(losses, arm.name, reach.tokens)
        )
        yield {
            "rank": rank if reach else None,
            "arm": arm.name,
            "changes": changes_text(arm.changes),
            "tokens": reach.tokens if reach else None,
            "n": len(values),
            "seeds": " ".join(map(str, reach.losses)) if reach else None,
            "held_out_loss": fmean(values) if values else None,
            "sd": stdev(values) if len(values) > 1 else None,
            "delta": found.delta,
            "low": found.low,
            "high": found.high,
            **_stop(results, arm.name),
            "status": status_of(results.trials[arm.name], results.seeds_in_all),
        }


def _losses(results: Results, arm: str) -> Losses:
    """Return held-out loss by mark, then seed; a diverged trial does not count, however well it began."""
    losses: dict[int, dict[int, float]] = {}
    for history in results.trials[arm]:
        finished = history.finished(PRETRAIN) if history.status is not TrialStatus.DIVERGED else ()
        for _, result in with_results(finished, PretrainResult):
            tokens, loss = finite(result.tokens), finite(result.held_out_loss)
            if tokens is not None and loss is not None:
                losses.setdefault(int(tokens), {})[history.trial.seed] = loss
    return losses


def _reach(losses: Mapping[str, Losses], arm: str) -> Reach | None:
    """Return the furthest mark at which the arm has a loss at a seed that others can be compared at."""
    for tokens in sorted(losses[arm], reverse=True):
        references = _references(losses, tokens)
        compared = {seed: loss for seed, loss in losses[arm][tokens].items() if seed in references}
        if compared:
            return Reach(tokens, compared, fmean(loss - references[seed] for seed, loss in compared.items()))
    return None


def _references(losses: Mapping[str, Losses], tokens: int) -> Mapping[int, float]:
    """Return by seed what losses at a mark are compared with: the baseline's, or the mean of all who came there."""
    baseline = losses.get(BASELINE, {})
    if tokens in baseline:
        return baseline[tokens]
    known = {seed for at_mark in baseline.values() for seed in at_mark}
    field: dict[int, list[float]] = {}
    for of_arm in losses.values():
        for seed, loss in of_arm.get(tokens, {}).items():
            if seed in known or not known:
                field.setdefault(seed, []).append(loss)
    return {seed: fmean(values) for seed, values in field.items()}


def _to_baseline(losses: Mapping[str, Losses], arm: str, tokens: int) -> Difference:
    return paired(losses[arm].get(tokens, {}), losses.get(BASELINE, {}).get(tokens, {}))


def against_baseline(results: Results, arm: str) -> tuple[int, Difference] | None:
    """Return the furthest mark at which an arm and the baseline share a seed, and how they differ there."""
    losses = {name: _losses(results, name) for name in (arm, BASELINE)}
    found = ((tokens, _to_baseline(losses, arm, tokens)) for tokens in sorted(losses[arm], reverse=True))
    return next(((tokens, difference) for tokens, difference in found if difference.pairs), None)


def between(results: Results, arm: str, other: str, tokens: int) -> Difference:
    """Return how two candidates differ at a mark, at the seeds that both have there."""
    losses, other_losses = (_losses(results, name).get(tokens, {}) for name in (arm, other))
    return paired(losses, other_losses)


def candidates_notes(results: Results) -> Iterator[str]:
    """Yield how candidates are ranked, and what that leaves out."""
    yield (
        "Rank: by the furthest mark, then by Δ to the baseline there, paired by seed. Only seeds at which the "
        "baseline reached that mark count, so that a difference between seeds is none between candidates."
    )
    losses = {arm.name: _losses(results, arm.name) for arm in results.arms}
    rows = ((arm.name, _reach(losses, arm.name)) for arm in results.arms)
    beyond = [
        f"{arm}/{seed} at {short(tokens)} tokens"
        for arm, reach in rows
        for tokens, at_mark in losses[arm].items()
        for seed in at_mark
        if tokens == max(losses[arm]) and (reach is None or tokens > reach.tokens or seed not in reach.losses)
    ]
    if beyond:
        yield f"Not ranked, because the baseline has no result at that mark and seed: {', '.join(beyond)}."
    audited = [history.trial.name for history in results.snapshot.histories if history.audit]
    if audited:
        yield (
            f"Audited: {', '.join(audited)} trained on to the end past the hurdle that stopped them. The audit alone "
            "counts that; ranks, Results and the Pareto front leave it out."
        )
    repeats = sum(history.trial.cohort is not None for history in _of_candidates(results))
    if repeats:
        what = "1 proposal repeats" if repeats == 1 else f"{repeats} proposals repeat"
        yield f"{what} an earlier candidate at a further seed; max_candidates counts repeats and the baseline."


def _of_candidates(results: Results) -> Iterator[TrialHistory]:
    return (history for history in results.snapshot.histories if history.trial.arm != BASELINE)


def _stop(results: Results, arm: str) -> dict[str, JsonValue]:
    """Return where the arm's trials were stopped; of several seeds the one that came furthest, the mean of values."""
    stops = [history.stopped_by for history in results.trials[arm] if history.status is TrialStatus.STOPPED]
    levels = [stop.level for stop in stops if stop is not None]
    here = [stop for stop in stops if stop is not None and stop.level == max(levels)]
    values = [stop.value for stop in here if stop.value is not None]
    thresholds = [stop.threshold for stop in here if stop.threshold is not None]
    return {
        "stopped_at_hurdle": max(levels) + 1 if levels else None,
        "value": fmean(values) if values else None,
        "threshold": fmean(thresholds) if thresholds else None,
    }


def changes_text(changes: Mapping[str, JsonValue]) -> str:
    """Return changes in one line: `bottleneck_ratio 2, convolution span_dynamic (kernel_size 5)`."""
    return ", ".join(f"{path} {_value_text(value)}" for path, value in changes.items()) or "none"


def _value_text(value: JsonValue) -> str:
    if not isinstance(value, dict):
        return value if isinstance(value, str) else canonical_text(value)
    fields = ", ".join(f"{name} {_value_text(field)}" for name, field in value.items() if name != "kind")
    kind = str(value.get("kind", ""))
    return f"{kind} ({fields})".strip() if fields else kind


def candidates_grid(candidates: Table) -> Iterator[Grid]:
    """Yield the candidates as people read them, none where there are none."""
    if not candidates.rows:
        return

    def cells(row: Row) -> list[str | Cell]:
        tokens, sets = row["tokens"], row["threshold"] is None and row["value"] is not None
        level, word = row["stopped_at_hurdle"], "sets hurdle" if sets else "hurdle"
        return [
            str(row["arm"]),
            str(row["rank"] or NOTHING),
            str(row["changes"]),
            short(tokens) if isinstance(tokens, int) else NOTHING,
            str(row["seeds"] or NOTHING),
            _spread(row),
            difference_cell(row, LOSS_DECIMALS),
            NOTHING if level is None else f"{word} {level}",
            NOTHING if level is None else _against(row),
        ]

    columns = [
        Column("candidate", numeric=False),
        Column("rank"),
        Column("changes", numeric=False),
        Column("tokens", "furthest mark"),
        Column("seeds", "furthest mark"),
        Column("loss ± sd (n)", "furthest mark"),
        Column("Δ [95%] (n)", "furthest mark"),
        Column("at", "stopped", numeric=False),
        Column("loss / bar", "stopped"),
    ]
    title = "Candidates, by how far they came and by Δ to the baseline there"
    yield grid(candidates.name, title, columns, map(cells, candidates.rows))


def _against(row: Row) -> str:
    """Return the value and the bar it met, with decimals enough to read which is the larger."""
    value, bar = number(row["value"]), number(row["threshold"])
    if value is None or bar is None:
        return f"{_loss_text(value)} / {_loss_text(bar)}"
    return " / ".join(distinct(value, bar, LOSS_DECIMALS))


def _spread(row: Row) -> str:
    if row["held_out_loss"] is None:
        return NOTHING
    spread = UNKNOWN if row["sd"] is None else _loss_text(row["sd"])
    return f"{_loss_text(row['held_out_loss'])} ± {spread} ({row['n']})"


def _loss_text(value: JsonValue) -> str:
    return fixed(value, LOSS_DECIMALS) if isinstance(value, int | float) else NOTHING


def _notes(results: Results) -> Iterator[str]:
    yield from candidates_notes(results)
    if len(results.arms) > 1:
        yield f"The best of {len(results.arms) - 1} candidates was chosen by the loss shown here: its Δ flatters it."


def _content(evidence: Evidence) -> Content:
    candidates = candidates_table(evidence.results)
    grids = (with_notes(shown, _notes(evidence.results)) for shown in candidates_grid(candidates))
    return Content((candidates,), tuple(grids))


SECTION = Section("candidates", _content, lambda evidence: evidence.results.is_search)

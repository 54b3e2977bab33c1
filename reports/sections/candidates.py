"""Candidates of a search, ranked by the last rung reached and by the paired difference to the baseline there."""

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from statistics import fmean, stdev

from analysis.difference import Difference
from analysis.effects import paired
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
"""Held-out loss by rung in tokens, then by pretraining seed."""


@dataclass(frozen=True)
class Reach:
    """The last rung at which a candidate can be ranked, with its losses at the seeds used for the rank."""

    tokens: int
    losses: Mapping[int, float]
    excess: float
    """Mean over seeds of the loss minus the reference loss at the same seed."""


def candidates_table(results: Results) -> Table:
    """Return the candidates by the last rung reached, then by their difference to the baseline there, paired by seed.

    Only seeds at which the baseline reached the candidate's rung are used, so that effects of the seed cancel. At a
    rung that the baseline never reached, the reference is the mean of all candidates there, at each of the baseline's
    seeds. A candidate without such a seed, or without a finite loss, has no rank.
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
        difference = (
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
            "delta": difference.delta,
            "low": difference.low,
            "high": difference.high,
            **_stop(results, arm.name),
            "status": status_of(results.trials[arm.name], results.seeds_in_all),
        }


def _losses(results: Results, arm: str) -> Losses:
    """Return held-out loss by rung, then seed; diverged trials are left out."""
    losses: dict[int, dict[int, float]] = {}
    for history in results.trials[arm]:
        finished = history.finished(PRETRAIN) if history.status is not TrialStatus.DIVERGED else ()
        for _, result in with_results(finished, PretrainResult):
            tokens, loss = finite(result.tokens), finite(result.held_out_loss)
            if tokens is not None and loss is not None:
                losses.setdefault(int(tokens), {})[history.trial.seed] = loss
    return losses


def _reach(losses: Mapping[str, Losses], arm: str) -> Reach | None:
    """Return the last rung at which the arm has a loss at a seed with a reference loss; None without one."""
    for tokens in sorted(losses[arm], reverse=True):
        references = _references(losses, tokens)
        compared = {seed: loss for seed, loss in losses[arm][tokens].items() if seed in references}
        if compared:
            return Reach(tokens, compared, fmean(loss - references[seed] for seed, loss in compared.items()))
    return None


def _references(losses: Mapping[str, Losses], tokens: int) -> Mapping[int, float]:
    """Return the reference loss at a rung by seed: the baseline's, else the mean of all arms at the rung."""
    baseline = losses.get(BASELINE, {})
    if tokens in baseline:
        return baseline[tokens]
    baseline_seeds = {seed for at_mark in baseline.values() for seed in at_mark}
    losses_by_seed: dict[int, list[float]] = {}
    for by_mark in losses.values():
        for seed, loss in by_mark.get(tokens, {}).items():
            if seed in baseline_seeds or not baseline_seeds:
                losses_by_seed.setdefault(seed, []).append(loss)
    return {seed: fmean(values) for seed, values in losses_by_seed.items()}


def _to_baseline(losses: Mapping[str, Losses], arm: str, tokens: int) -> Difference:
    return paired(losses[arm].get(tokens, {}), losses.get(BASELINE, {}).get(tokens, {}))


def against_baseline(results: Results, arm: str) -> tuple[int, Difference] | None:
    """Return the last rung at which an arm and the baseline share a seed, with the paired difference there."""
    losses = {name: _losses(results, name) for name in (arm, BASELINE)}
    differences = ((tokens, _to_baseline(losses, arm, tokens)) for tokens in sorted(losses[arm], reverse=True))
    return next(((tokens, difference) for tokens, difference in differences if difference.n), None)


def between(results: Results, arm: str, other: str, tokens: int) -> Difference:
    """Return the paired difference of two candidates at a rung, over the seeds that both have there."""
    losses, other_losses = (_losses(results, name).get(tokens, {}) for name in (arm, other))
    return paired(losses, other_losses)


def candidates_notes(results: Results) -> Iterator[str]:
    """Yield how candidates are ranked and which results are not used for it."""
    yield (
        "Rank: by the last rung reached, then by Δ to the baseline there, paired by seed. Only seeds at which the "
        "baseline reached that rung are used, so that effects of the seed cancel."
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
        yield f"Not ranked, because the baseline has no result at that rung and seed: {', '.join(beyond)}."
    audited = [history.trial.name for history in results.snapshot.histories if history.audit]
    if audited:
        yield (
            f"Audited: {', '.join(audited)}, trained to the end of the budget after a hurdle stopped them. Only the "
            "audit uses these results; ranks, Results and the Pareto front leave them out."
        )
    repeats = sum(history.trial.cohort is not None for history in _of_candidates(results))
    if repeats:
        what = "1 proposal repeats" if repeats == 1 else f"{repeats} proposals repeat"
        yield f"{what} an earlier candidate at a further seed; max_candidates counts repeats and the baseline."


def _of_candidates(results: Results) -> Iterator[TrialHistory]:
    return (history for history in results.snapshot.histories if history.trial.arm != BASELINE)


def _stop(results: Results, arm: str) -> dict[str, JsonValue]:
    """Return the last hurdle that stopped a trial of the arm, with mean value and threshold over its seeds."""
    stops = [history.stopped_by for history in results.trials[arm] if history.status is TrialStatus.STOPPED]
    levels = [stop.level for stop in stops if stop is not None]
    last_stops = [stop for stop in stops if stop is not None and stop.level == max(levels)]
    values = [stop.value for stop in last_stops if stop.value is not None]
    thresholds = [stop.threshold for stop in last_stops if stop.threshold is not None]
    return {
        "stopped_at_hurdle": max(levels) + 1 if levels else None,
        "value": fmean(values) if values else None,
        "threshold": fmean(thresholds) if thresholds else None,
    }


def changes_text(changes: Mapping[str, JsonValue]) -> str:
    """Return the changes on one line: `bottleneck_ratio 2, convolution span_dynamic (kernel_size 5)`."""
    return ", ".join(f"{path} {_value_text(value)}" for path, value in changes.items()) or "none"


def _value_text(value: JsonValue) -> str:
    if not isinstance(value, dict):
        return value if isinstance(value, str) else canonical_text(value)
    fields = ", ".join(f"{name} {_value_text(field)}" for name, field in value.items() if name != "kind")
    kind = str(value.get("kind", ""))
    return f"{kind} ({fields})".strip() if fields else kind


def candidates_grid(candidates: Table, compared: str, at_end_of_budget: Container[str]) -> Iterator[Grid]:
    """Yield the candidates as a grid; none without candidates.

    `compared` is what hurdles compare; the arms `at_end_of_budget` were stopped by it and by no hurdle.
    """
    if not candidates.rows:
        return

    def cells(row: Row) -> list[str | Cell]:
        tokens, sets = row["tokens"], row["threshold"] is None and row["value"] is not None
        ended = row["arm"] in at_end_of_budget
        level, word = row["stopped_at_hurdle"], "end of budget," if ended else "sets hurdle" if sets else "hurdle"
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
        Column("tokens", "last rung"),
        Column("seeds", "last rung"),
        Column("loss ± sd (n)", "last rung"),
        Column("Δ [95%] (n)", "last rung"),
        Column("at", "stopped", numeric=False),
        Column(f"{compared} / threshold", "stopped"),
    ]
    title = "Candidates, ranked by the last rung reached and by Δ to the baseline there"
    yield grid(candidates.name, title, columns, map(cells, candidates.rows))


def _against(row: Row) -> str:
    """Return the value and the threshold, with enough decimals to show which is larger."""
    value, threshold = number(row["value"]), number(row["threshold"])
    if value is None or threshold is None:
        return f"{_loss_text(value)} / {_loss_text(threshold)}"
    return " / ".join(distinct(value, threshold, LOSS_DECIMALS))


def _spread(row: Row) -> str:
    if row["held_out_loss"] is None:
        return NOTHING
    spread = UNKNOWN if row["sd"] is None else _loss_text(row["sd"])
    return f"{_loss_text(row['held_out_loss'])} ± {spread} ({row['n']})"


def _loss_text(value: JsonValue) -> str:
    return fixed(value, LOSS_DECIMALS) if isinstance(value, int | float) else NOTHING


def _notes(results: Results) -> Iterator[str]:
    yield from candidates_notes(results)
    candidates = len(results.arms) - 1
    if candidates > 1:
        yield f"The best of {candidates} candidates was selected by the loss shown here, so that its Δ is optimistic."


def _content(evidence: Evidence) -> Content:
    candidates = candidates_table(evidence.results)
    compared = evidence.results.experiment.pretraining.hurdle.compared
    ended = {each.trial.arm for each in evidence.results.snapshot.histories if each.stopped_at_end_of_budget}
    grids = (with_notes(shown, _notes(evidence.results)) for shown in candidates_grid(candidates, compared, ended))
    return Content((candidates,), tuple(grids))


SECTION = Section("candidates", _content, lambda evidence: evidence.results.is_search)

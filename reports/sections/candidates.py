"""A search's tables: every candidate with how far it came, and how much each axis mattered."""

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
from reports.number_format import short
from reports.results import Results
from reports.sections.table import Row, Table, table
from reports.sections.trial_status import status_of

SEARCH = "search"


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
        found = Difference() if reach is None or arm.name == BASELINE else _beside(losses, arm.name, reach.tokens)
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
        mine = {seed: loss for seed, loss in losses[arm][tokens].items() if seed in references}
        if mine:
            return Reach(tokens, mine, fmean(loss - references[seed] for seed, loss in mine.items()))
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


def _beside(losses: Mapping[str, Losses], arm: str, tokens: int) -> Difference:
    return paired(losses[arm].get(tokens, {}), losses.get(BASELINE, {}).get(tokens, {}))


def against_baseline(results: Results, arm: str) -> tuple[int, Difference] | None:
    """Return the furthest mark at which an arm and the baseline share a seed, and how they differ there."""
    losses = {name: _losses(results, name) for name in (arm, BASELINE)}
    found = ((tokens, _beside(losses, arm, tokens)) for tokens in sorted(losses[arm], reverse=True))
    return next(((tokens, difference) for tokens, difference in found if difference.pairs), None)


def between(results: Results, arm: str, other: str, tokens: int) -> Difference:
    """Return how two candidates differ at a mark, at the seeds that both have there."""
    mine, its = (_losses(results, name).get(tokens, {}) for name in (arm, other))
    return paired(mine, its)


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


def importance_table(importance: Mapping[str, float], candidates: int) -> Table:
    """Return the share of the held-out loss's variance that each axis explains, the largest first."""
    ranked = sorted(importance.items(), key=lambda item: (-item[1], item[0]))
    rows: list[Row] = [{"path": path, "importance": share, "candidates": candidates} for path, share in ranked]
    return table("importance", "path importance candidates", rows)

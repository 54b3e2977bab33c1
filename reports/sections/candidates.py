"""Candidates of a search, ranked by the last rung reached and by the paired difference to the baseline there."""

from collections.abc import Container, Iterator, Mapping
from statistics import fmean, stdev

from reports.grid import Cell, Column, Grid, grid, with_notes
from reports.number_format import NOTHING, UNKNOWN, distinct, fixed, short
from reports.section import Content, Section
from reports.sections.difference_cells import difference_cell
from reports.sections.trial_status import status_of
from reports.statistics.evidence import Evidence
from reports.statistics.objectives import LOSS_DECIMALS, Objectives, title_of
from reports.statistics.results import Results
from reports.statistics.rung_losses import Reach, losses_of, reach_of, to_baseline
from reports.table import Row, Table, number, table
from steeplechase.analysis.difference import Difference
from steeplechase.configuration.arm import BASELINE, changes_text
from steeplechase.configuration.metrics import SCORE
from steeplechase.configuration.stage_label import PRETRAIN, pretraining_marks
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.records import ArmRow, TrialStatus
from steeplechase.ledger.snapshot import TrialHistory

COLUMNS = (
    *("rank", "arm", "changes", "tokens", "n", "seeds", "held_out_loss", "sd", "delta", "low", "high"),
    *("stopped_at_hurdle", "value", "threshold", "status"),
)
OF_SCORE = ("score", "sd_score", "n_score", "delta_score", "low_score", "high_score")
SCORE_DECIMALS = 1


def candidates_table(results: Results) -> Table:
    """Return the baseline, which has no rank, then the candidates by rank.

    With the held-out loss as only objective: by the last rung reached, then by the difference to the baseline there,
    paired by seed. Else the candidates with all objectives come first, those on the Pareto front before the others,
    by the first objective; the others follow by their last rung. Candidates that a probe stopped are ranked by it.
    Only seeds at which the baseline reached the candidate's rung are used, so that effects of the seed cancel. At a
    rung that the baseline never reached, the reference is the mean of all candidates there, at each of the baseline's
    seeds. A candidate without such a seed, or without a finite loss, has no rank.
    """
    objectives = Objectives(results)
    columns = [*COLUMNS, *(name for name in objectives.names[1:] if name not in COLUMNS)]
    columns += ["front"] if len(objectives.names) > 1 else []
    columns += OF_SCORE if objectives.names[0] == SCORE else []
    return table("candidates", " ".join(columns), _rows(results, objectives))


def _rows(results: Results, objectives: Objectives) -> Iterator[Row]:
    losses = {arm.name: losses_of(results, arm.name) for arm in results.arms}
    reached = {arm.name: reach_of(losses, arm.name) for arm in results.arms}
    ranks = 0
    for arm in _in_order(results, objectives, reached):
        reach = reached[arm.name]
        values = [*reach.losses.values()] if reach else []
        difference = (
            Difference() if reach is None or arm.name == BASELINE else to_baseline(losses, arm.name, reach.tokens)
        )
        ranked = arm.name != BASELINE and reach is not None
        ranks += ranked
        yield {
            "rank": ranks if ranked else None,
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
            **_of_objectives(objectives, arm.name),
        }


def _in_order(results: Results, objectives: Objectives, reached: Mapping[str, Reach | None]) -> list[ArmRow]:
    last = next(reversed(pretraining_marks(results.snapshot.labels)), None)

    def order(arm: ArmRow) -> tuple[int, int, tuple[float, ...]]:
        reach = reached[arm.name]
        if arm.name == BASELINE:
            return 0, 0, ()
        if not objectives.loss_alone and arm.name in objectives.values:
            return 1 if arm.name in objectives.front else 2, 0, objectives.signed(arm.name)
        if reach is None:
            return 4, 0, ()
        value = (
            number(_stop(results, arm.name)["value"])
            if _probed(results) and f"{PRETRAIN}@{reach.tokens}" != last
            else None
        )
        return 3, -reach.tokens, (reach.excess if value is None else -value,)

    return sorted(results.arms, key=order)


def _probed(results: Results) -> bool:
    return results.experiment.pretraining.hurdle.probe is not None


def _of_objectives(objectives: Objectives, arm: str) -> Row:
    """Return the further objectives, whether an arm is on the front, and its score where that is the first."""
    found: dict[str, JsonValue] = {}
    values = dict(zip(objectives.names, objectives.values.get(arm, ()), strict=False))
    found |= {name: values.get(name) for name in objectives.names[1:] if name not in COLUMNS}
    if len(objectives.names) > 1:
        found["front"] = arm in objectives.front
    if objectives.names[0] == SCORE:
        scores = [*objectives.by_seed.get(arm, {}).values()]
        difference = Difference() if arm == BASELINE else objectives.difference(arm, BASELINE)
        mean = fmean(scores) if scores else None
        spread = stdev(scores) if len(scores) > 1 else None
        of_score = (mean, spread, len(scores), difference.delta, difference.low, difference.high)
        found |= dict(zip(OF_SCORE, of_score, strict=True))
    return found


def candidates_notes(results: Results) -> Iterator[str]:
    """Yield how candidates are ranked and which results are not used for it."""
    objectives = Objectives(results)
    if objectives.loss_alone:
        yield "Rank: by the last rung reached, then by Δ to the baseline there, paired by seed."
    else:
        front = " on the Pareto front, then the other" if objectives.front else ""
        at_rung = "the score of the probe" if _probed(results) else "Δ of the loss"
        yield (
            f"Rank: the{front} candidates with all objectives, by {title_of(objectives.names[0])}, then the "
            f"rest by the last rung reached and by {at_rung} there."
        )
    yield (
        "Only seeds at which the baseline reached that rung are used, so that effects of the seed cancel. Hurdles do "
        "not stop the baseline, which has no rank."
    )
    losses = {arm.name: losses_of(results, arm.name) for arm in results.arms}
    rows = ((arm.name, reach_of(losses, arm.name)) for arm in results.arms)
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


def candidates_grid(results: Results, candidates: Table) -> Iterator[Grid]:
    """Yield the candidates as a grid; none without candidates."""
    if not candidates.rows:
        return
    objectives = Objectives(results)
    scored, further = objectives.names[0] == SCORE, objectives.names[1:]
    at_end_of_budget = {each.trial.arm for each in results.snapshot.histories if each.stopped_at_end_of_budget}

    def cells(row: Row) -> Iterator[str | Cell]:
        tokens, level = row["tokens"], row["stopped_at_hurdle"]
        yield from (str(row["arm"]), str(row["changes"]), str(row["rank"] or NOTHING))
        if scored:
            yield from (
                _spread(row, "score", "_score", SCORE_DECIMALS),
                difference_cell(row, SCORE_DECIMALS, "_score"),
            )
        for name in further:
            measured = row["arm"] in objectives.values
            yield objectives.text(str(row["arm"]), name) if measured else NOTHING
        if further:
            yield "yes" if row["front"] else NOTHING
        yield short(tokens) if isinstance(tokens, int) else NOTHING
        yield str(row["seeds"] or NOTHING)
        yield _spread(row, "held_out_loss", "", LOSS_DECIMALS)
        yield difference_cell(row, LOSS_DECIMALS)
        yield NOTHING if level is None else f"{_stop_word(row, at_end_of_budget)} {level}"
        yield NOTHING if level is None else _against(row)

    score = [Column("mean ± sd (n)", "score"), Column("Δ [95%] (n)", "score")]
    of_further = [Column(title_of(name), "objectives") for name in further]
    columns = [
        *(Column("candidate", numeric=False), Column("changes", numeric=False), Column("rank")),
        *(score if scored else ()),
        *((*of_further, Column("on the front", "objectives", numeric=False)) if further else ()),
        Column("tokens", "last rung"),
        Column("seeds", "last rung"),
        Column("loss ± sd (n)", "last rung"),
        Column("Δ [95%] (n)", "last rung"),
        Column("at", "stopped", numeric=False),
        Column(f"{results.experiment.pretraining.hurdle.compared} / threshold", "stopped"),
    ]
    title = "Candidates, ranked by the last rung reached and by Δ to the baseline there"
    if not objectives.loss_alone:
        title = f"Candidates, ranked by {objectives.title}, then by the last rung reached"
    yield grid(candidates.name, title, columns, map(cells, candidates.rows))


def _stop_word(row: Row, at_end_of_budget: Container[str]) -> str:
    """Return what stopped a candidate: the end of the policy's budget, a hurdle that it sets, or a hurdle."""
    if row["arm"] in at_end_of_budget:
        return "end of budget,"
    return "sets hurdle" if row["threshold"] is None and row["value"] is not None else "hurdle"


def _against(row: Row) -> str:
    """Return the value and the threshold, with enough decimals to show which is larger."""
    value, threshold = number(row["value"]), number(row["threshold"])
    if value is None or threshold is None:
        return f"{_loss_text(value)} / {_loss_text(threshold)}"
    return " / ".join(distinct(value, threshold, LOSS_DECIMALS))


def _spread(row: Row, name: str, suffix: str, decimals: int) -> str:
    mean, spread = number(row[name]), number(row[f"sd{suffix}"])
    if mean is None:
        return NOTHING
    return f"{fixed(mean, decimals)} ± {UNKNOWN if spread is None else fixed(spread, decimals)} ({row[f'n{suffix}']})"


def _loss_text(value: JsonValue) -> str:
    return fixed(value, LOSS_DECIMALS) if isinstance(value, int | float) else NOTHING


def _notes(results: Results) -> Iterator[str]:
    yield from candidates_notes(results)
    candidates = len(results.arms) - 1
    if candidates > 1:
        by = "loss" if Objectives(results).loss_alone else title_of(Objectives(results).names[0])
        yield f"The best of {candidates} candidates was selected by the {by} shown here, so that its Δ is optimistic."


def _content(evidence: Evidence) -> Content:
    candidates = candidates_table(evidence.results)
    grids = (with_notes(each, _notes(evidence.results)) for each in candidates_grid(evidence.results, candidates))
    return Content((candidates,), tuple(grids))


SECTION = Section("candidates", _content, lambda evidence: evidence.results.is_search)

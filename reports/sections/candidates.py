"""Candidates of a search, ranked by the last rung reached and by the paired difference to the baseline there."""

from collections.abc import Iterator, Mapping
from functools import partial
from statistics import fmean, stdev

from reports.number_format import NOTHING, distinct, short
from reports.section import Content, Section, delta, number_text, spread, tokens
from reports.statistics.held_out_losses import Losses, Reach, losses_of, reach_of, to_baseline
from reports.statistics.objectives import LOSS_DECIMALS, Objectives, may_rank, title_of
from reports.statistics.results import Results
from reports.statistics.trial_status import status_of
from reports.table import Column, Row, Table, interval, number, shown, words
from steeplechase.analysis.difference import Difference
from steeplechase.configuration.arm import BASELINE, changes_text
from steeplechase.configuration.metrics import HELD_OUT_LOSS, SCORE
from steeplechase.configuration.stage_label import PRETRAIN, pretraining_marks
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.records import ArmRow, TrialStatus

OF_SCORE = ("score", "sd_score", "n_score", "delta_score", "low_score", "high_score")
SCORE_DECIMALS = 1


def candidates_table(results: Results) -> Table:
    """Return the baseline, which has no rank, then the candidates by rank.

    With the held-out loss as only objective: by the last rung reached, then by the difference to the baseline there,
    paired by seed. Else the candidates with all objectives come first, those on the Pareto front before the others,
    by the first objective; the others follow by their last rung. Candidates that a probe stopped are ranked by it.
    Only seeds at which the baseline reached the candidate's rung are used, so that effects of the seed cancel. At a
    rung that the baseline never reached, the reference is the mean of all candidates there, at each of the baseline's
    seeds. A candidate without such a seed, without a finite loss, or of which a seed diverged, has no rank.
    """
    return Table.of("candidates", _rows(results, results.once(Objectives)))


def _losses(results: Results) -> Mapping[str, Losses]:
    return {arm.name: losses_of(results, arm.name) for arm in results.arms}


def _rows(results: Results, objectives: Objectives) -> Iterator[Row]:
    losses = results.once(_losses)
    reached = {arm.name: reach_of(losses, arm.name) for arm in results.arms}
    ranks = 0
    for arm in _in_order(results, objectives, reached):
        reach = reached[arm.name]
        values = [*reach.losses.values()] if reach else []
        difference = (
            Difference() if reach is None or arm.name == BASELINE else to_baseline(losses, arm.name, reach.tokens)
        )
        ranked = arm.name != BASELINE and reach is not None and may_rank(results, arm.name)
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
            **interval(difference),
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
        if reach is None or not may_rank(results, arm.name):
            return 4, 0, ()
        value = (
            number(_stop(results, arm.name)["value"])
            if _probed(results) and not objectives.without_score and f"{PRETRAIN}@{reach.tokens}" != last
            else None
        )
        return 3, -reach.tokens, (reach.excess if value is None else -value,)

    return sorted(results.arms, key=order)


def _probed(results: Results) -> bool:
    return results.experiment.pretraining.hurdle.rung_probe is not None


def _of_objectives(objectives: Objectives, arm: str) -> Row:
    """Return the further objectives, whether an arm is on the front, and its score where that is the first."""
    found: dict[str, JsonValue] = {}
    values = dict(zip(objectives.names, objectives.values.get(arm, ()), strict=False))
    found |= {name: values.get(name) for name in objectives.names[1:] if name != HELD_OUT_LOSS}
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
    objectives = results.once(Objectives)
    if reason := objectives.without_score:
        yield f"{reason[0].upper()}{reason[1:]}."
    if objectives.loss_alone:
        yield "Rank: by the last rung reached, then by Δ to the baseline there, paired by seed."
    else:
        front = " candidates on the Pareto front, then the other" if objectives.front else ""
        at_rung = "the score of the probe" if _probed(results) else "Δ of the loss"
        yield (
            f"Rank: the{front} candidates with all objectives, by {title_of(objectives.names[0])}, then the "
            f"rest by the last rung reached and by {at_rung} there."
        )
    if (reference := results.snapshot.probe_reference) is not None:
        yield (
            f"A hurdle stops a trial only by a threshold above the best score on {reference.task} without "
            f"pretraining: {reference.text}."
        )
    yield (
        "Only seeds at which the baseline reached that rung are used, so that effects of the seed cancel. Hurdles do "
        "not stop the baseline, which has no rank."
    )
    if not all(may_rank(results, arm.name) for arm in results.arms):
        yield "A candidate of which a seed diverged has no rank."
    losses = results.once(_losses)
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
            f"Audited (trained to the end of the budget after a hurdle had stopped it): {', '.join(audited)}. "
            "Only the audit uses these results; ranks, Results and the Pareto front leave them out."
        )
    trials = [history.trial for history in results.snapshot.histories]
    repeats = sum(trial.cohort is not None for trial in trials if trial.arm != BASELINE)
    if repeats:
        what = "1 proposal repeats" if repeats == 1 else f"{repeats} proposals repeat"
        yield f"{what} an earlier candidate at a further seed; max_candidates counts repeats and the baseline."


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


def _columns(results: Results) -> Iterator[Column]:
    objectives = results.once(Objectives)
    at_end_of_budget = {each.trial.arm for each in results.snapshot.histories if each.stopped_at_end_of_budget}

    def objective(name: str, row: Row) -> str:
        return objectives.text(str(row["arm"]), name) if row["arm"] in objectives.values else NOTHING

    def stopped(row: Row) -> str:
        level, sets = row["stopped_at_hurdle"], row["threshold"] is None and row["value"] is not None
        word = "end of budget," if row["arm"] in at_end_of_budget else "sets hurdle" if sets else "hurdle"
        return NOTHING if level is None else f"{word} {level}"

    yield from (words("candidate", "arm"), words("changes"))
    yield Column("rank", read=lambda row: str(row["rank"] or NOTHING))
    if objectives.names[0] == SCORE:
        yield Column("mean ± sd (n)", "score", read=spread(SCORE_DECIMALS, "score", "sd_score", "n_score"))
        yield delta(SCORE_DECIMALS, group="score", suffix="_score")
    for name in objectives.names[1:]:
        yield Column(title_of(name), "objectives", read=partial(objective, name))
    if objectives.names[1:]:
        yield words("on the front", lambda row: "yes" if row["front"] else NOTHING, "objectives")
    yield Column("tokens", "last rung", read=tokens)
    yield Column("seeds", "last rung", read=lambda row: str(row["seeds"] or NOTHING))
    yield Column("loss ± sd (n)", "last rung", read=spread(LOSS_DECIMALS, "held_out_loss"))
    yield delta(LOSS_DECIMALS, group="last rung")
    yield words("at", stopped, "stopped")
    yield Column(f"{results.experiment.pretraining.hurdle.compared} / threshold", "stopped", read=_against)


def _against(row: Row) -> str:
    """Return the value and the threshold, with enough decimals to show which is larger; nothing without a stop."""
    value, threshold = number(row["value"]), number(row["threshold"])
    if row["stopped_at_hurdle"] is None:
        return NOTHING
    if value is None or threshold is None:
        return f"{number_text(value, LOSS_DECIMALS)} / {number_text(threshold, LOSS_DECIMALS)}"
    return " / ".join(distinct(value, threshold, LOSS_DECIMALS))


def _notes(results: Results) -> Iterator[str]:
    yield from candidates_notes(results)
    candidates = len(results.arms) - 1
    if any(row["rank"] for row in results.once(candidates_table).rows) and candidates > 1:
        objectives = results.once(Objectives)
        by = "loss" if objectives.loss_alone else title_of(objectives.names[0])
        yield f"The best of {candidates} candidates was selected by the {by} shown here, so that its Δ is optimistic."


def _content(results: Results) -> Content:
    candidates = results.once(candidates_table)
    objectives = results.once(Objectives)
    title = "Candidates, ranked by the last rung reached and by Δ to the baseline there"
    if not objectives.loss_alone:
        title = f"Candidates, ranked by {objectives.title}, then by the last rung reached"
    return Content((candidates,), shown("candidates", title, [*_columns(results)], candidates.rows, _notes(results)))


SECTION = Section("candidates", _content, lambda results: results.is_search)

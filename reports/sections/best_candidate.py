"""Finding of a search: how its candidates ended, the best that finished, and the front."""

from collections import Counter
from collections.abc import Sequence

from reports.number_format import counted, interval_text_with_n, sentence_of, short
from reports.section import Section
from reports.sections.audit import audit_sentence
from reports.sections.candidates import candidates_table
from reports.statistics.held_out_losses import against_baseline, between
from reports.statistics.metrics import Metric, in_place_of_score
from reports.statistics.objectives import Objectives
from reports.statistics.results import Results
from reports.table import Row
from steeplechase.analysis.difference import Difference
from steeplechase.configuration.arm import BASELINE
from steeplechase.configuration.metrics import HELD_OUT_LOSS
from steeplechase.configuration.validation.search import asked_candidates, points_text, possible_points
from steeplechase.ledger.records import NOT_ENDED, TrialStatus

LOSS = Metric(HELD_OUT_LOSS)
ENDS = {
    TrialStatus.FINISHED: "finished",
    TrialStatus.STOPPED: "stopped at hurdles",
    TrialStatus.FAILED: "failed",
    TrialStatus.DIVERGED: "diverged",
}
END_OF_BUDGET = "stopped by the end of the budget"


def search_finding(results: Results, compared: bool = False) -> tuple[str, ...]:
    """Return the finding; the best candidate is named among the finished ones, or else by the last rung reached.

    Where finalists are `compared` at seeds of their own, what the search measured of them is left to its tables.
    """
    rows = [row for row in results.once(candidates_table).rows if row["arm"] != BASELINE]
    ends = {str(row["arm"]): _end_of(results, str(row["arm"])) for row in rows}
    ranked = [row for row in rows if row["rank"] is not None]
    finished = [row for row in ranked if ends[str(row["arm"])] == "finished"]
    clauses = [_ended(results, ends)]
    if finished and not compared:
        best = finished[0]
        which = "the only one to finish is" if len(finished) == 1 else "the best of them is"
        where = f" at {short(best['tokens'])} tokens" if isinstance(best["tokens"], int) else ""
        named = f"{best['arm']} ({best['changes']}){where}"
        clauses[0] += f"; {which} {named}, {_to_baseline(results, finished)}"
        clauses[0] += _not_distinguishable(results, finished)
    diverged, trials = results.diverged(BASELINE)
    if diverged and ranked:
        clauses.append(f"in the search the baseline diverged in {diverged} of {counted(trials, 'seed')}")
    clauses.append(results.once(Objectives).without_score if ranked else "")
    if not compared:
        clauses.append(_front(results))
    clauses.append(_space(results))
    sentences = (*map(sentence_of, filter(None, clauses)), audit_sentence(results))
    return tuple(filter(None, sentences))


def _end_of(results: Results, arm: str) -> str:
    """Return how an arm ended: diverged if a seed of it has, else finished if one has, open while one is, as ENDS."""
    statuses = {history.status for history in results.trials[arm]} or {TrialStatus.WAITING}
    if TrialStatus.DIVERGED in statuses and not statuses & {*NOT_ENDED}:
        return ENDS[TrialStatus.DIVERGED]
    if TrialStatus.FINISHED not in statuses and statuses & {*NOT_ENDED}:
        return "not over"
    if any(history.stopped_at_end_of_budget for history in results.trials[arm]):
        return END_OF_BUDGET
    return next(word for status, word in ENDS.items() if status in statuses)


def _ended(results: Results, ends: dict[str, str]) -> str:
    """Return how many candidates finished, and how the others ended; where nothing has a result, that it has none."""
    baseline, candidates = _end_of(results, BASELINE) if results.trials.get(BASELINE) else "not over", len(ends)
    counts = Counter(ends.values())
    measured = any(row["tokens"] is not None for row in results.once(candidates_table).rows)
    if not measured and (not results.arms or "not over" in (baseline, *ends.values())):
        return f"No result yet: none of {counted(candidates, 'candidate')} has reached a rung"
    if not measured and {baseline, *ends.values()} == {"diverged"}:
        of_all = "the candidate" if candidates == 1 else f"all {candidates} candidates"
        return f"No result: the baseline and {of_all} diverged"
    words = [word for word in (*ENDS.values(), END_OF_BUDGET, "not over") if word != "finished"]
    others = [f"{counts[word]} {word}" for word in words if counts[word]]
    text = f"Of {counted(candidates, 'candidate')} {counts['finished'] or 'none'} finished"
    text += f" ({', '.join(others)})" if others else ""
    if measured and all(
        row["tokens"] is None for row in results.once(candidates_table).rows if row["arm"] != BASELINE
    ):
        return f"{text}; the baseline alone has a result"
    return text if measured else f"No result: {text[0].lower()}{text[1:]}, and the baseline {baseline}"


def _to_baseline(results: Results, finished: Sequence[Row]) -> str:
    """Return the difference of the best candidate to the baseline in the first objective."""
    arm, objectives = str(finished[0]["arm"]), results.once(Objectives)
    if objectives.names[0] == HELD_OUT_LOSS:
        comparison = against_baseline(results, arm)
        if comparison is None:
            return "which shares no rung with the baseline at the same seed"
        mark, difference = comparison
        where, metric = f"held-out loss at {short(mark)} tokens, the last rung of both", LOSS
    else:
        difference, metric = objectives.difference(arm, BASELINE), objectives.first
        where = f"{metric.title}, the declared objective"
        if not difference.n:
            return f"which shares no seed with the baseline in {where}"
    interval = f"Δ {interval_text_with_n(difference, _decimals(results, metric))}"
    if difference.low is None:
        return f"whose difference from the baseline in {where}, has no interval ({interval})"
    if difference.delta is None or not difference.excludes_zero:
        return f"which does not differ significantly from the baseline in {where} ({interval})"
    word = "better" if metric.better(difference.delta, 0.0) else "worse"
    count = len(finished)
    choice = f" (without correction for the choice of the best of {count})" if count > 1 else ""
    return f"significantly {word} than the baseline{choice} in {where} ({interval})"


def _decimals(results: Results, metric: Metric) -> int:
    return results.decimals(Metric(in_place_of_score(metric.name, results.tasks)))


def _not_distinguishable(results: Results, finished: Sequence[Row]) -> str:
    """Return the number of finished candidates that no interval of a difference tells from the best one."""
    best, *others = (row for row in finished if row["tokens"] == finished[0]["tokens"])
    tokens, arm = best["tokens"], str(best["arm"])
    differences = {str(row["arm"]): _between(results, arm, str(row["arm"]), tokens) for row in others}
    not_different = [name for name, difference in differences.items() if not difference.excludes_zero]
    if not not_different:
        return ""
    text = interval_text_with_n(differences[not_different[0]], _decimals(results, results.once(Objectives).first))
    nearest = f"{arm} minus {not_different[0]}: {text}"
    if all(difference.n == 1 for difference in differences.values()):
        return f"; whether it differs from the next cannot be tested with one seed ({nearest})"
    if len(others) == 1:
        return f", and not distinguishable from the only other finished candidate ({nearest})"
    few = len(not_different) < len(others)
    count = f"{len(not_different)} of the {len(others)}" if few else f"any of the {len(others)}"
    return f", and not distinguishable from {count} other finished candidates (next, {nearest})"


def _between(results: Results, arm: str, other: str, tokens: object) -> Difference:
    objectives = results.once(Objectives)
    if objectives.names[0] == HELD_OUT_LOSS and isinstance(tokens, int):
        return between(results, arm, other, tokens)
    return objectives.difference(arm, other)


def _front(results: Results) -> str:
    """Return the arms on the Pareto front of several objectives, with their further ones; empty of one objective."""
    objectives = results.once(Objectives)
    if not objectives.front:
        return ""
    texts = [
        f"{arm} ({', '.join(objectives.text(arm, name) for name in objectives.names[1:])})"
        for arm in objectives.front
    ]
    return f"on the Pareto front of {objectives.title}: {', '.join(texts)}"


def _space(results: Results) -> str:
    """Return that a search over has every point of its space, which are fewer than the candidates it asked for."""
    design, candidates = results.experiment.search, len(results.arms) - 1
    if design is None or not results.snapshot.over or candidates >= design.max_candidates - 1:
        return ""  # the baseline is one of the arms of the file, which need not be counted then
    asked = asked_candidates(results.experiment, design)
    if candidates >= asked:
        return ""
    points = possible_points(results.experiment, design, candidates + 1)
    return points_text(results.experiment, candidates, asked) if candidates == points else ""


SECTION = Section("best_candidate", clauses=search_finding)

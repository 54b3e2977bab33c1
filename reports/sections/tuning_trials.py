"""Tuning: the points tried for every arm, their values, the selected point, and whether it lies at an edge."""

from collections.abc import Iterable, Iterator
from functools import partial

from reports.number_format import NOTHING, counted, short
from reports.section import Content, Section, number_text
from reports.statistics.metrics import Metric
from reports.statistics.results import Results
from reports.table import Cell, Column, Grid, Row, Table, number, shown, words
from steeplechase.configuration.metrics import HELD_OUT_LOSS
from steeplechase.foundation.canonical import canonical_text
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.phase_plans import Choice
from steeplechase.ledger.records import NOT_ENDED, TrialStatus
from steeplechase.ledger.snapshot import Tuning

TUNING = "tuning"
CHOSEN = " chosen"
LOSS_DECIMALS, SCORE_DECIMALS = 4, 2


def _rows(tuning: Tuning) -> Iterator[Row]:
    """Yield one row per arm and point; values are those of the selection, None before it."""
    choices = {choice.arm: choice for choice in tuning.choices}
    points = len(tuning.tried.points)
    for position, row in enumerate(tuning.arms):
        assert row.tuning_trial_of is not None
        point, choice = position % points, choices.get(row.tuning_trial_of)
        statuses = [history.status for history in tuning.histories if history.trial.arm == row.name]
        selected = None if choice is None else choice.point == point
        yield {
            "arm": row.tuning_trial_of,
            "point": point,
            "name": tuning.tried.names[point],
            "changes": {**tuning.tried.points[point]},
            "trials": len(statuses),
            "finished": statuses.count(TrialStatus.FINISHED),
            "diverged": statuses.count(TrialStatus.DIVERGED),
            "value": None if choice is None else choice.values[point],
            "chosen": selected,
            "edge": "; ".join(edges(tuning, choice)) or None if choice is not None and selected else None,
        }


def edges(tuning: Tuning, choice: Choice) -> Iterator[str]:
    """Yield the fields whose selected value is the smallest or the largest tried; 0 does not count as an edge."""
    for path in tuning.tried.shared if choice.values[choice.point] is not None else ():
        tried_values = [number(value) for value in tuning.tried.values(path)]
        numbers = [value for value in tried_values if value is not None]
        selected = tried_values[choice.point]
        if selected is None or len(set(numbers)) < 2:
            continue
        if selected == max(numbers):
            yield f"{_leaf(path)} {selected:g}, the largest"
        elif selected == min(numbers) and selected > 0:
            yield f"{_leaf(path)} {selected:g}, the smallest"


def _grids(tuning: Tuning, notes: Iterable[str]) -> Iterator[Grid]:
    """Yield the selected points by arm, then the values of all points; none before the selection."""
    metric, tried = Metric(tuning.tried.metric), tuning.tried
    decimals = LOSS_DECIMALS if metric.name == HELD_OUT_LOSS else SCORE_DECIMALS

    def chosen(path: str, choice: Choice) -> str:
        return _text(tried.values(path)[choice.point])

    def at_point(choice: Choice, point: int) -> Cell:
        selected = choice.point == point
        return Cell(number_text(choice.values[point], decimals) + (CHOSEN if selected else ""), selected)

    columns = [
        words("arm", lambda choice: choice.arm),
        *(words(_leaf(path), partial(chosen, path), "chosen") for path in tried.shared),
        Column("shared recipe", metric.title, read=lambda choice: number_text(choice.values[0], decimals)),
        Column("own recipe", metric.title, read=lambda choice: number_text(choice.values[choice.point], decimals)),
        words("at an edge", lambda choice: "; ".join(edges(tuning, choice)) or NOTHING),
    ]
    title = f"Tuning: each arm's own recipe, by mean {metric.title} over {_seeds(tuning)}"
    yield from shown("choices", title, columns, tuning.choices, notes)
    columns = [words("point", lambda point: tried.names[point])]
    columns += [Column(choice.arm, read=partial(at_point, choice)) for choice in tuning.choices]
    rows = range(len(tried.points)) if tuning.choices else ()
    yield from shown(TUNING, f"Tuning: {metric.title} at every point that was tried", columns, rows)


def _notes(tuning: Tuning) -> Iterator[str]:
    """Yield the procedure of tuning and the selections at an edge."""
    plan = tuning.tried
    best = "smallest mean held-out loss" if plan.metric == HELD_OUT_LOSS else f"largest mean {plan.metric}"
    yield (
        f"Tuning: every arm was tried at the same {len(plan.points)} points, the shared recipe among them "
        f"(all combinations of the listed values), on {short(plan.tokens)} tokens and {_seeds(tuning)}, which the "
        f"comparison does not use. The point with the {best} is selected, on the same held-out data as in the "
        "comparison and with as many evaluations for every arm; ties go to the shared recipe, then to the smaller "
        "change, and a point with a diverged seed is never selected."
    )
    for choice in tuning.choices:
        if all(value is None for value in choice.values):
            yield f"Tuning: a seed of {choice.arm} diverged at every point; it stays at the shared recipe."
    edges_by_arm = {choice.arm: "; ".join(edges(tuning, choice)) for choice in tuning.choices}
    at_edge = [f"{arm} ({edge})" for arm, edge in edges_by_arm.items() if edge]
    if at_edge:
        listed = ", ".join(at_edge)
        yield f"Warning: selected at the edge of the tried range, so a better value may lie outside it: {listed}."


def _conditions(results: Results) -> Iterator[tuple[str, str]]:
    """Yield the trials of tuning and how many of them did not finish."""
    if (tuning := results.snapshot.tuning) is None:
        return
    plan, statuses = tuning.tried, [history.status for history in tuning.histories]
    arms, points = len({row.tuning_trial_of for row in tuning.arms}), len(plan.points)
    text = (
        f"{counted(len(statuses), 'trial')} of {short(plan.tokens)} tokens: {counted(arms, 'arm')} at "
        f"{counted(points, 'point')} on {_seeds(tuning)}"
    )
    ended = {state.value: statuses.count(state) for state in (TrialStatus.DIVERGED, TrialStatus.FAILED)}
    waiting = sum(state in NOT_ENDED for state in statuses)
    bad = [f"{count} {word}" for word, count in (*ended.items(), ("not ended", waiting)) if count]
    yield "Tuning", "; ".join([text, *bad])


def _seeds(tuning: Tuning) -> str:
    seeds = tuning.tried.seeds
    return f"seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}"


def _text(value: JsonValue) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    return value if isinstance(value, str) else canonical_text(value)


def _leaf(path: str) -> str:
    return path.rpartition(".")[2]


def _content(results: Results) -> Content:
    tuning = results.snapshot.tuning
    assert tuning is not None
    notes = tuple(_notes(tuning))
    grids = tuple(_grids(tuning, notes))
    return Content((Table.of(TUNING, _rows(tuning)),), grids, notes_on_results=() if grids else notes)


SECTION = Section(TUNING, _content, lambda results: results.snapshot.tuning is not None, conditions=_conditions)

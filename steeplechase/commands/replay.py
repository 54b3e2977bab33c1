"""`steeplechase replay`: a search on recorded curves, in seconds and without training."""

import json
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Annotated

import typer

from runners.replay.curves.reading import read_curves
from runners.replay.replay import CurveTask, Outcome, interval, replay
from runners.replay.settings import RECOMMENDED, SEARCHES
from steeplechase.foundation.errors import ConfigurationError, not_one_of
from steeplechase.foundation.schema import JsonValue

LIST = "list"
BUDGET, SEEDS = 10.0, 20

Curves = Annotated[
    Path | None,
    typer.Argument(metavar="CURVES", help="Recorded curves: a file, a folder of files, or a results folder."),
]
SearchName = Annotated[
    str,
    typer.Option(
        "--search",
        metavar="SEARCH",
        autocompletion=lambda: [*SEARCHES, LIST],
        help=f"One of {', '.join(SEARCHES)}; `{LIST}` prints them.",
    ),
]
Budget = Annotated[float, typer.Option(help="Number of full trainings; a partial one counts by its share.")]
Seeds = Annotated[int, typer.Option(min=1, help="Number of random orders of the candidates.")]


def replay_command(
    curves: Curves = None,
    search: SearchName = RECOMMENDED,
    budget: Budget = BUDGET,
    seeds: Seeds = SEEDS,
    decisions: Annotated[
        bool,
        typer.Option("--decisions", help="Take the decisions of a search again, from its results folder."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for other programs.")] = False,
) -> None:
    """Replay a search on recorded curves and print its normalised regret."""
    if decisions:
        _refuse_replay_options(search, budget, seeds)
        document = _decisions(_required(curves))
    else:
        known: dict[str, JsonValue] = {"searches": [*SEARCHES], "recommended": RECOMMENDED}
        document = known if search == LIST else _replayed(_required(curves), search, budget, seeds)
    print(json.dumps(document, indent=2, ensure_ascii=False) if as_json else _text(document))  # noqa: T201


def _refuse_replay_options(search: str, budget: float, seeds: int) -> None:
    """Raise ConfigurationError for options of a replay; recorded decisions are of the folder's own search."""
    defaults = {"--search": (search, RECOMMENDED), "--budget": (budget, BUDGET), "--seeds": (seeds, SEEDS)}
    if given := [flag for flag, (value, default) in defaults.items() if value != default]:
        raise ConfigurationError(f"--decisions: they are those of the search itself; leave {', '.join(given)} out")


def _decisions(folder: Path) -> dict[str, JsonValue]:
    """Take the decisions again; raises ConflictError for one that does not follow from the results before it."""
    from reports.statistics.experiment import experiment_of
    from runners.replay.recorded_decisions import reproduce
    from steeplechase.ledger.snapshot import open_rows, snapshot_at

    experiment = experiment_of(snapshot_at(folder).document)
    with open_rows(folder) as rows:
        found = reproduce(experiment, rows)
    return {"search": experiment.experiment, "candidates": found.candidates, "decisions": found.decisions}


def _required(curves: Path | None) -> Path:
    if curves is None:
        raise ConfigurationError("CURVES is missing: give a file or a folder of recorded curves")
    return curves


def _replayed(path: Path, search: str, budget: float, seeds: int) -> dict[str, JsonValue]:
    if search not in SEARCHES:
        raise ConfigurationError(f"--search: {not_one_of(search, 'a search', SEARCHES)}")
    if not 0 < budget < float("inf"):
        raise ConfigurationError(f"--budget: {budget:g} is out of range; more than 0 full trainings are needed")
    tasks = [CurveTask.of(curves) for curves in read_curves(path)]
    outcomes = [[replay(task, SEARCHES[search], budget, seed) for seed in range(seeds)] for task in tasks]
    return {
        "search": search,
        "budget": budget,
        "seeds": seeds,
        "normalised_regret": _interval(outcomes, lambda outcome: outcome.regret),
        "normalised_regret_of_choice": _interval(outcomes, lambda outcome: outcome.regret_of_choice),
        "per_seed": [*_per_seed(outcomes, lambda outcome: outcome.regret)],
        "tasks": [_task(task, of_task) for task, of_task in zip(tasks, outcomes, strict=True)],
    }


def _task(task: CurveTask, outcomes: list[Outcome]) -> JsonValue:
    return {
        "name": task.curves.name,
        "candidates": len(task.curves.candidates),
        "left_out": task.curves.left_out,
        "points": len(task.curves.steps),
        "normalised_regret": _interval([outcomes], lambda outcome: outcome.regret),
        "started": fmean(outcome.started for outcome in outcomes),
        "finished": fmean(outcome.finished for outcome in outcomes),
        "spent": fmean(outcome.spent for outcome in outcomes),
    }


def _per_seed(outcomes: list[list[Outcome]], number: Callable[[Outcome], float]) -> list[float]:
    """Return the mean over tasks at each seed."""
    return [fmean(number(outcome) for outcome in at_seed) for at_seed in zip(*outcomes, strict=True)]


def _interval(outcomes: list[list[Outcome]], number: Callable[[Outcome], float]) -> dict[str, JsonValue]:
    mean, low, high = interval(_per_seed(outcomes, number))
    return {"mean": mean, "low": low, "high": high}


def _text(document: dict[str, JsonValue]) -> str:
    if "searches" in document:
        names = document["searches"]
        assert isinstance(names, list)
        return "\n".join(f"{name} (recommended)" if name == RECOMMENDED else str(name) for name in names)
    if "decisions" in document:
        counts = f"{document['candidates']} candidates and {document['decisions']} decisions"
        return f"{document['search']}: {counts} are those that follow from the recorded results"
    regret, tasks = document["normalised_regret"], document["tasks"]
    assert isinstance(regret, dict)
    assert isinstance(tasks, list)
    lines = [f"{document['search']} at {document['budget']:g} full trainings, {document['seeds']} seeds"]
    for task in tasks:
        assert isinstance(task, dict)
        left_out = f", {task['left_out']} without a last step left out" if task["left_out"] else ""
        counts = f"{task['candidates']} candidates x {task['points']} points{left_out}"
        lines.append(f"  {task['name']}: {_shown(task['normalised_regret'])} ({counts})")
    return "\n".join([*lines, f"normalised regret {_shown(regret)}"])


def _shown(interval: JsonValue) -> str:
    assert isinstance(interval, dict)
    return f"{interval['mean']:.3f} [{interval['low']:.3f}, {interval['high']:.3f}]"

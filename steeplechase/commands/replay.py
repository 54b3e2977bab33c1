"""`steeplechase replay`: simulates a search policy on recorded curves, in seconds and without training."""

import json
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Annotated

import typer

from runners.policies import POLICIES, RECOMMENDED
from runners.replay.curves.reading import read_curves
from runners.replay.replay import CurveTask, Outcome, interval, replay
from steeplechase.foundation.errors import ConfigurationError, not_one_of
from steeplechase.foundation.schema import JsonValue

LIST = "list"
BUDGET, SEEDS = 10.0, 20

Curves = Annotated[
    Path | None,
    typer.Argument(metavar="CURVES", help="Recorded curves: a file, a folder of files, or a results folder."),
]
PolicyName = Annotated[
    str,
    typer.Option(
        "--policy",
        metavar="POLICY",
        autocompletion=lambda: [*POLICIES, LIST],
        help=f"One of {', '.join(POLICIES)}; `{LIST}` prints them.",
    ),
]
Budget = Annotated[float, typer.Option(help="Full trainings; a partial training counts its share.")]
Seeds = Annotated[int, typer.Option(min=1, help="Number of random orders of the candidates.")]


def replay_command(
    curves: Curves = None,
    policy: PolicyName = RECOMMENDED,
    budget: Budget = BUDGET,
    seeds: Seeds = SEEDS,
    decisions: Annotated[
        bool,
        typer.Option("--decisions", help="Take the decisions of a policy's search again, from its results folder."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for other programs.")] = False,
) -> None:
    """Replay a search policy on recorded curves and print its normalised regret."""
    if decisions:
        _refuse_replay_options(policy, budget, seeds)
        document = _decisions(_required(curves))
    else:
        document = _policies() if policy == LIST else _replayed(_required(curves), policy, budget, seeds)
    print(json.dumps(document, indent=2, ensure_ascii=False) if as_json else _text(document))  # noqa: T201


def _refuse_replay_options(policy: str, budget: float, seeds: int) -> None:
    """Raise ConfigurationError for options of a replay; the policy of recorded decisions is the search's own."""
    defaults = {"--policy": (policy, RECOMMENDED), "--budget": (budget, BUDGET), "--seeds": (seeds, SEEDS)}
    if given := [flag for flag, (value, default) in defaults.items() if value != default]:
        raise ConfigurationError(f"--decisions: they are those of the search itself; leave {', '.join(given)} out")


def _policies() -> dict[str, JsonValue]:
    return {"policies": [*POLICIES], "recommended": RECOMMENDED}


def _decisions(folder: Path) -> dict[str, JsonValue]:
    """Take the decisions again; raises ConflictError for one that does not follow from the results before it."""
    from reports.statistics.experiment import experiment_of
    from runners.scheduling.recorded_decisions import reproduce
    from steeplechase.ledger.reading import open_rows, snapshot_at

    experiment = experiment_of(snapshot_at(folder).document)
    with open_rows(folder) as rows:
        found = reproduce(experiment, rows)
    return {"policy": found.policy, "candidates": found.candidates, "decisions": found.decisions}


def _required(curves: Path | None) -> Path:
    if curves is None:
        raise ConfigurationError("CURVES is missing: give a file or a folder of recorded curves")
    return curves


def _replayed(path: Path, policy: str, budget: float, seeds: int) -> dict[str, JsonValue]:
    if policy not in POLICIES:
        raise ConfigurationError(f"--policy: {not_one_of(policy, 'a policy', POLICIES)}")
    if not 0 < budget < float("inf"):
        raise ConfigurationError(f"--budget: {budget:g} is out of range; more than 0 full trainings are needed")
    tasks = [CurveTask.of(curves) for curves in read_curves(path)]
    outcomes = [[replay(task, POLICIES[policy], budget, seed) for seed in range(seeds)] for task in tasks]
    return {
        "policy": policy,
        "budget": budget,
        "seeds": seeds,
        "normalised_regret": _interval(outcomes, lambda outcome: outcome.regret),
        "normalised_regret_of_choice": _interval(outcomes, lambda outcome: outcome.regret_of_choice),
        "top_percent_seen": _interval(outcomes, lambda outcome: float(outcome.top_seen_at is not None)),
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
    if "policies" in document:
        names = document["policies"]
        assert isinstance(names, list)
        return "\n".join(f"{name} (recommended)" if name == RECOMMENDED else str(name) for name in names)
    if "decisions" in document:
        counts = f"{document['candidates']} candidates and {document['decisions']} decisions"
        return f"{document['policy']}: {counts} are those that follow from the recorded results"
    regret, tasks = document["normalised_regret"], document["tasks"]
    assert isinstance(regret, dict)
    assert isinstance(tasks, list)
    lines = [f"{document['policy']} at {document['budget']:g} full trainings, {document['seeds']} seeds"]
    for task in tasks:
        assert isinstance(task, dict)
        left_out = f", {task['left_out']} without a last step left out" if task["left_out"] else ""
        counts = f"{task['candidates']} candidates x {task['points']} points{left_out}"
        lines.append(f"  {task['name']}: {_shown(task['normalised_regret'])} ({counts})")
    return "\n".join([*lines, f"normalised regret {_shown(regret)}"])


def _shown(interval: JsonValue) -> str:
    assert isinstance(interval, dict)
    return f"{interval['mean']:.3f} [{interval['low']:.3f}, {interval['high']:.3f}]"

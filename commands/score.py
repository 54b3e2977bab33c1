"""`steeplechase score`: a file of predictions by its task's official metrics."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from commands.arguments import not_one_of
from search_space.refusals import ConfigurationRefused
from tasks.downstream import find_task, task_names
from tasks.downstream.task import Judge

Task = Annotated[str, typer.Argument(metavar="TASK", help="A published task, such as cola or mnli.")]
Data = Annotated[Path, typer.Option(metavar="PATH", help="The data's folder, the task's, or a labelled file.")]
Predictions = Annotated[
    Path,
    typer.Option(metavar="FILE", help="A table `index`, `prediction`; one prediction a line; or JSON."),
]


def score(
    task: Task,
    data: Data,
    predictions: Predictions,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for other programs.")] = False,
) -> None:
    """Score a file of predictions by the task's official metrics, under their official names."""
    found = _judge_of(task)(data, predictions)
    print(json.dumps({**found}, indent=2) if as_json else _text(found))  # noqa: T201


def _judge_of(name: str) -> Judge:
    judged = {known: judge for known in task_names() if (judge := find_task(known).judge) is not None}
    if name not in judged:
        raise ConfigurationRefused(not_one_of(name, "a published task", judged))
    return judged[name]


def _text(scores: Mapping[str, float | int]) -> str:
    width = max(map(len, scores))
    return "\n".join(
        f"{name:<{width}}  {value if isinstance(value, int) else format(value, '.6f')}"
        for name, value in scores.items()
    )

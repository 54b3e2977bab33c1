"""`steeplechase score`: the official metrics of a file of predictions."""

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from steeplechase.commands.output import tell
from steeplechase.foundation.errors import ConfigurationError, not_one_of
from steeplechase.tasks import text_pair_evaluation
from steeplechase.tasks.downstream import find_task, task_names
from steeplechase.tasks.labelled.task import Evaluate

Task = Annotated[str, typer.Argument(metavar="TASK", help="A published task, such as cola or multi30k_de_en.")]
Data = Annotated[Path, typer.Option(metavar="PATH", help="The data folder, the task's folder, or a labelled file.")]
Predictions = Annotated[
    Path,
    typer.Option(metavar="FILE", help="A table `index`, `prediction`; one prediction or text a line; or JSON."),
]

NullOdds = Annotated[Path | None, typer.Option(metavar="FILE", help="SQuAD 2.0: odds of no answer, by question.")]


def score(
    task: Task,
    data: Data,
    predictions: Predictions,
    null_odds: NullOdds = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for other programs.")] = False,
) -> None:
    """Score a file of predictions by the task's official metrics, under their official names."""
    evaluation = _evaluator_of(task)(data, predictions, null_odds)
    for remark in evaluation.remarks:
        tell(f"note: {remark}")
    print(json.dumps({**evaluation.metrics}, indent=2) if as_json else _text(evaluation.metrics))  # noqa: T201


def _evaluator_of(name: str) -> Evaluate:
    tasks = {known: find_task(known) for known in task_names()}
    evaluators = {known: task.evaluate for known, task in tasks.items() if task.evaluate is not None}
    texts = (known for known, task in tasks.items() if task.form == "text_pair")
    evaluators |= {known: partial(text_pair_evaluation.evaluate, tasks[known]) for known in texts}
    if name not in evaluators:
        raise ConfigurationError(not_one_of(name, "a published task", evaluators))
    return evaluators[name]


def _text(scores: Mapping[str, float | int]) -> str:
    width = max(map(len, scores))
    return "\n".join(
        f"{name:<{width}}  {value if isinstance(value, int) else format(value, '.6f')}"
        for name, value in scores.items()
    )

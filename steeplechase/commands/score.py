"""`steeplechase score`: the official metrics of a file of predictions.

Of a task whose targets are texts, the file has one generated text a line.
"""

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from steeplechase.commands.output import tell
from steeplechase.foundation.errors import ConfigurationError, not_one_of
from steeplechase.tasks.corpora.file_lines import text_lines
from steeplechase.tasks.dataset_folder import scored_file
from steeplechase.tasks.downstream import find_task, task_names
from steeplechase.tasks.labelled.mistakes import Mistakes
from steeplechase.tasks.labelled.task import DownstreamTask, Evaluate, Evaluation

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
    evaluators |= {known: partial(score_texts, tasks[known]) for known in texts}
    if name not in evaluators:
        raise ConfigurationError(not_one_of(name, "a published task", evaluators))
    return evaluators[name]


def _text(scores: Mapping[str, float | int]) -> str:
    width = max(map(len, scores))
    return "\n".join(
        f"{name:<{width}}  {value if isinstance(value, int) else format(value, '.6f')}"
        for name, value in scores.items()
    )


def score_texts(task: DownstreamTask, data: Path, predictions: Path, null_odds: Path | None = None) -> Evaluation:
    """Return the task's metrics from 0 to 100, with the 95% interval over resampled texts and the signature of each.

    `data` is the data folder or the task's, whose dev part is read, or the file of a part's sources. Raises DataError
    for another number of texts than the part has, and for every mistake of its files.
    """
    from steeplechase.tasks.text_metrics import text_scores  # numpy, which the declaration of a task does without

    assert task.files is not None
    assert task.files.read is not None
    sources = scored_file(data, task.files, task.name, null_odds)
    part = "dev"
    if data.is_file():
        part = next((each for each, name in task.files.parts.items() if name == data.name), part)
    references = [str(example.second) for example in task.files.read(part, sources, sources.name).examples]
    texts = [line.rstrip("\r\n") for _, line in text_lines(predictions, predictions.name)]
    if len(texts) != len(references):
        mistakes = Mistakes(predictions.name)
        mistakes.add(len(texts) + 1, f"{len(texts)} texts, one a line; {sources.name} has {len(references)}")
        mistakes.refuse()
    found = text_scores(task.metrics, texts, references)
    remarks = [
        f"{metric}: 95% over resampled texts {score.interval[0]:.2f} to {score.interval[1]:.2f}; {score.signature}"
        for metric, score in found.items()
    ]
    return Evaluation({metric: score.value for metric, score in found.items()}, tuple(remarks))

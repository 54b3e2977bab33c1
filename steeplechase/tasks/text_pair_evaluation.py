"""Scores a file of generated texts, one a line, against the targets of a task whose targets are texts."""

from pathlib import Path

from steeplechase.tasks.corpora.file_lines import text_lines
from steeplechase.tasks.dataset_folder import scored_file
from steeplechase.tasks.labelled.mistakes import Mistakes
from steeplechase.tasks.labelled.task import DownstreamTask, Evaluation


def evaluate(task: DownstreamTask, data: Path, predictions: Path, null_odds: Path | None = None) -> Evaluation:
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

"""Scores a file of generated texts, one a line, against the targets of a task whose targets are texts."""

from pathlib import Path

from steeplechase.foundation.errors import DataError
from steeplechase.tasks.corpora.file_lines import text_lines
from steeplechase.tasks.dataset_folder import FolderOfTasks, origin_of
from steeplechase.tasks.labelled.mistakes import Mistakes
from steeplechase.tasks.labelled.task import DownstreamTask, Evaluation


def evaluate(task: DownstreamTask, data: Path, predictions: Path, null_odds: Path | None = None) -> Evaluation:
    """Return the task's metrics from 0 to 100, with the 95% interval over resampled texts and the signature of each.

    `data` is the data folder or the task's, whose dev part is read, or the file of a part's sources. Raises DataError
    for another number of texts than the part has, and for every mistake of its files.
    """
    if null_odds is not None:
        raise DataError(f"{null_odds}: {task.name} has no null odds; they belong to squad_v2_0")
    from steeplechase.tasks.text_metrics import text_scores  # numpy, which the declaration of a task does without

    part, sources = _part(task, data)
    assert task.files is not None
    assert task.files.read is not None
    references = [str(example.second) for example in task.files.read(part, sources, sources.name).examples]
    texts = [line.rstrip("\r\n") for _, line in text_lines(predictions, predictions.name)]
    if len(texts) != len(references):
        mistakes = Mistakes(predictions.name)
        mistakes.add(len(texts) + 1, f"{len(texts)} texts, one a line; {sources.name} has {len(references)}")
        mistakes.refuse()
    found = text_scores(task.metrics, texts, references)
    remarks = [
        f"{metric}: 95% over resampled texts {low:.2f} to {high:.2f}; {found.signatures[metric]}"
        for metric, (low, high) in found.intervals.items()
    ]
    return Evaluation(found.values, tuple(remarks))


def _part(task: DownstreamTask, data: Path) -> tuple[str, Path]:
    """Return the part that is scored and the file of its sources. Raises DataError if there is none."""
    assert task.files is not None
    if data.is_file():
        named = next((part for part, name in task.files.parts.items() if name == data.name), "dev")
        return named, data
    sources = FolderOfTasks(path=str(data)).located(task.files).get("dev")
    if sources is None:
        raise DataError(f"{data}: scoring needs the official files; {origin_of(task.files)}")
    return "dev", sources

"""Data that an experiment reads and that are not there: every source is named before anything is made."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import TypeVar

from configuration.experiment import Experiment
from foundation.errors import DataError
from tasks.corpora.text_files import TextFilesCorpus
from tasks.data_folder import HINT
from tasks.downstream import find_task

T = TypeVar("T")


def refuse_missing(experiment: Experiment) -> None:
    """Raise DataError with every source that is not there; what is there is only looked for, not read."""
    tuning = experiment.fine_tuning
    files = [find_task(task).files for task in tasks_of(experiment)]
    needed: list[Callable[[], object]] = [
        *(corpus.look for corpus in (experiment.corpus, tuning.corpus) if isinstance(corpus, TextFilesCorpus)),
        *(partial(tuning.data.located, each) for each in files if each is not None and tuning.data is not None),
    ]
    answers(needed)


def answers(asked: Iterable[Callable[[], T]]) -> list[T]:
    """Return what each call returns. Raises one DataError with what all of them refuse."""
    found: list[T] = []
    refused: list[str] = []
    for ask in asked:
        try:
            found.append(ask())
        except DataError as refusal:
            refused += refusal.lines
    if refused:
        raise DataError(_hint_last(dict.fromkeys(refused)))
    return found


def _hint_last(lines: Iterable[str]) -> list[str]:
    """Return the lines with the one about all missing data behind the others."""
    return sorted(lines, key=lambda line: line == HINT)


def tasks_of(experiment: Experiment) -> tuple[str, ...]:
    """Return the fine-tuning tasks, the one that the hurdles look at included."""
    tasks, probe = experiment.fine_tuning.tasks, experiment.pretraining.hurdle.probe
    return tasks if probe is None or probe.task in tasks else (*tasks, probe.task)

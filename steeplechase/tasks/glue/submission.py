"""Submission files of GLUE's leaderboard (gluebenchmark.com/faq): a table per task, in its spelling of labels."""

from collections.abc import Sequence

from steeplechase.tasks.glue.evaluate import HEADER
from steeplechase.tasks.labelled.task import DownstreamTask

FILES = {
    ("cola", "test"): "CoLA.tsv",
    ("sst2", "test"): "SST-2.tsv",
    ("mrpc", "test"): "MRPC.tsv",
    ("stsb", "test"): "STS-B.tsv",
    ("qqp", "test"): "QQP.tsv",
    ("mnli", "test"): "MNLI-m.tsv",
    ("mnli", "mismatched_test"): "MNLI-mm.tsv",
    ("qnli", "test"): "QNLI.tsv",
    ("rte", "test"): "RTE.tsv",
    ("wnli", "test"): "WNLI.tsv",
    ("mnli", "diagnostic"): "AX.tsv",
}
"""File names by task and part."""

BY_NUMBER = frozenset({"cola", "sst2", "mrpc", "qqp", "wnli"})
"""Tasks whose labels the leaderboard writes as 0 and 1."""


def table_of(task: DownstreamTask, rows: Sequence[str], predictions: Sequence[float]) -> str:
    """Return one submission file: identifiers of rows and predictions. Values have three decimals."""
    lines = [HEADER]
    lines += [f"{row}\t{_written(task, prediction)}" for row, prediction in zip(rows, predictions, strict=True)]
    return "\n".join(lines) + "\n"


def _written(task: DownstreamTask, prediction: float) -> str:
    if task.value_range is not None:
        return f"{prediction:.3f}"
    return str(int(prediction)) if task.name in BY_NUMBER else task.labels[int(prediction)]

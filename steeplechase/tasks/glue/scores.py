"""The GLUE score by the papers of ELECTRA and ConvBERT and by the leaderboard, and the files of a submission."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

from steeplechase.tasks.glue.evaluate import HEADER
from steeplechase.tasks.labelled.task import DownstreamTask

PAPER, LEADERBOARD = "glue:paper", "glue:leaderboard"
PARTS_OF: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    PAPER: {name: (name,) for name in ("cola", "mnli", "mrpc", "qnli", "qqp", "rte", "sst2", "stsb")},
    LEADERBOARD: {
        "cola": ("cola",),
        "mnli": ("mnli", "mnli:accuracy mismatched"),
        "mrpc": ("mrpc", "mrpc:f1"),
        "qnli": ("qnli",),
        "qqp": ("qqp", "qqp:f1"),
        "rte": ("rte",),
        "sst2": ("sst2",),
        "stsb": ("stsb", "stsb:pearson"),
        "wnli": ("wnli",),
    },
}
"""By score and task, the metrics whose mean is the task's score; a task's name is its first metric.

The papers omit WNLI and use one metric per task (ConvBERT, arXiv 2008.02496, Table 3: Matthews for CoLA,
Spearman for STS-B, accuracy for the others); the leaderboard (gluebenchmark.com) uses the mean of a task's metrics.
"""


def glue_scores(values: Mapping[str, float]) -> Iterator[tuple[str, float]]:
    """Yield each score, 0 to 100, whose metrics are all among the values."""
    for score, tasks in PARTS_OF.items():
        if all(part in values for parts in tasks.values() for part in parts):
            yield score, fmean(fmean(values[part] for part in parts) for parts in tasks.values())


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

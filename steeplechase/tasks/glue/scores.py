"""The GLUE score by two definitions: of the ELECTRA and ConvBERT papers, and of the leaderboard."""

from collections.abc import Iterator, Mapping
from statistics import fmean

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

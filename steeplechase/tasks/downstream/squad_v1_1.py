"""SQuAD 1.1: extractive question answering on paragraphs (Rajpurkar et al. 2016, arXiv 1606.05250).

Split: the official train and dev files; the test set is hidden, so dev scores are reported. A paragraph longer than a
window is split into overlapping windows.
"""

from functools import partial

from steeplechase.tasks.labelled.task import DownstreamTask
from steeplechase.tasks.squad.evaluate import score_files
from steeplechase.tasks.squad.files import published

TASK = DownstreamTask(
    name="squad_v1_1",
    version=1,
    form="windows",
    labels=(),
    metrics=("f1", "exact_match"),
    chance=0.0,
    files=published("v1.1", 87599, 10570),
    squad="v1.1",
    evaluate=partial(score_files, "v1.1"),
    shortest_sequence=68,  # [CLS], a question of 64 tokens, [SEP], one token, [SEP]
    long_sequences=True,
)

"""SQuAD: extractive question answering on paragraphs, of which long ones are split into overlapping windows.

Train and dev are the official files; the test set is hidden, so dev scores are reported. In version 2.0 the threshold
of "no answer" is selected on a tenth of the paragraphs of the train file, which is excluded from training.
"""

from functools import partial

from steeplechase.tasks.labelled.task import DownstreamTask, Version
from steeplechase.tasks.squad.evaluate import score_files
from steeplechase.tasks.squad.files import published


def _task(name: str, about: str, version: Version, metrics: tuple[str, ...], train: int, dev: int) -> DownstreamTask:
    return DownstreamTask(
        name=name,
        version=1,
        form="windows",
        labels=(),
        metrics=metrics,
        chance=0.0,
        files=published(version, train, dev),
        squad=version,
        evaluate=partial(score_files, version),
        shortest_sequence=68,  # [CLS], a question of 64 tokens, [SEP], one token, [SEP]
        long_sequences=True,
        about=about,
    )


V1_1 = "SQuAD 1.1: extractive question answering on paragraphs (Rajpurkar et al. 2016, arXiv 1606.05250)."
V2_0 = "SQuAD 2.0: SQuAD 1.1 and questions without an answer (Rajpurkar et al. 2018, arXiv 1806.03822)."
TASKS = (
    _task("squad_v1_1", V1_1, "v1.1", ("f1", "exact_match"), 87_599, 10_570),
    _task("squad_v2_0", V2_0, "v2.0", ("f1", "exact"), 130_319, 11_873),
)

"""SQuAD 2.0: SQuAD 1.1 and questions without an answer (Rajpurkar et al. 2018, arXiv 1806.03822).

Split: the official train and dev files; the test set is hidden, so dev scores are reported. The threshold of "no
answer" is selected on a tenth of the paragraphs of the train file, which is excluded from training, and never on dev.
"""

from functools import partial

from steeplechase.tasks.labelled.task import DownstreamTask
from steeplechase.tasks.squad.evaluate import score_files
from steeplechase.tasks.squad.files import published

TASK = DownstreamTask(
    name="squad_v2_0",
    version=1,
    form="windows",
    labels=(),
    metrics=("f1", "exact"),
    chance=0.0,
    files=published("v2.0", 130319, 11873),
    squad="v2.0",
    evaluate=partial(score_files, "v2.0"),
    shortest_sequence=68,  # [CLS], a question of 64 tokens, [SEP], one token, [SEP]
    long_sequences=True,
)

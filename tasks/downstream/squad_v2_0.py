"""As SQuAD 1.1, and some paragraphs have no answer. SQuAD 2.0, Rajpurkar et al. 2018, arXiv 1806.03822.

The threshold of "no answer" is chosen on a tenth of the train file's paragraphs, which is excluded from training, and
never on dev. Train and dev files are the official ones; the test set is hidden, so dev scores are reported.
"""

from functools import partial

from tasks.labelled.task import DownstreamTask
from tasks.squad.evaluate import score_files
from tasks.squad.files import published

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

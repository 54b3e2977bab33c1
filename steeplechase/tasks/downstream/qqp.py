"""QQP, Quora Question Pairs: are two questions duplicates? (Quora 2017).

Source: Quora's first release, in GLUE's split.
Split: the official train and dev files; the test file has no labels.
Metrics: accuracy, used in the GLUE score of ELECTRA and ConvBERT, and F1 of `duplicate`. Chance: the larger class of
dev.
Rows of the published train file with too few cells are skipped and counted.
"""

from steeplechase.tasks.glue.table import Columns, configuration
from steeplechase.tasks.glue.task import GlueTable

TABLE = GlueTable(
    folder="QQP",
    counts={"train": 363846, "dev": 40430},
    columns={
        "dev": Columns("question1", "question2", answer="is_duplicate"),
        "test": Columns("question1", "question2", row="id"),
    },
    configuration=configuration("qqp", "question1", "question2"),
    labels=("not_duplicate", "duplicate"),
    spellings={"0": 0, "1": 1},
    unordered=True,
    leaves_out_broken=True,
)
TASK = TABLE.task("qqp", "pair", ("accuracy", "f1"), chance=25_545 / 40_430)

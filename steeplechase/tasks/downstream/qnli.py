"""QNLI: does a sentence contain the answer to a question? Derived from SQuAD 1.1 (arXiv 1804.07461, section 3.3).

Source: GLUE, version 2 of QNLI.
Split: the official train and dev files; the test file has no labels.
Metric: accuracy. Chance: the larger class of dev.
"""

from steeplechase.tasks.glue.table import Columns, configuration
from steeplechase.tasks.glue.task import GlueTable

TABLE = GlueTable(
    folder="QNLI",
    counts={"train": 104743, "dev": 5463},
    columns={
        "dev": Columns("question", "sentence", answer="label"),
        "test": Columns("question", "sentence", row="index"),
    },
    configuration=configuration("qnli", "question", "sentence"),
    labels=("entailment", "not_entailment"),
)
TASK = TABLE.task("qnli", "pair", ("accuracy",), chance=2_761 / 5_463)

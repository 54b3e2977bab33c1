"""RTE 1, 2, 3 and 5: textual entailment, does the first sentence entail the second? (Dagan et al. 2006 and later).

Source: the PASCAL and TAC challenges, as combined by GLUE.
Split: the official train and dev files; the test file has no labels.
Metric: accuracy. Chance: the larger class of dev.
"""

from steeplechase.tasks.glue.table import Columns, configuration
from steeplechase.tasks.glue.task import GlueTable

TABLE = GlueTable(
    folder="RTE",
    counts={"train": 2490, "dev": 277},
    columns={
        "dev": Columns("sentence1", "sentence2", answer="label"),
        "test": Columns("sentence1", "sentence2", row="index"),
    },
    configuration=configuration("rte", "sentence1", "sentence2"),
    labels=("entailment", "not_entailment"),
)
TASK = TABLE.task("rte", "pair", ("accuracy",), chance=146 / 277)

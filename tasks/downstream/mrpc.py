"""Do two sentences mean the same? MRPC, the Microsoft Research Paraphrase Corpus (Dolan and Brockett 2005).

Source: Microsoft Research; GLUE's split, made with its dev_ids.tsv.
Split: the official train and dev files; the test file has no labels.
Metrics: accuracy, which the paper's GLUE score takes, and F1 of `equivalent`. Chance: the larger class of dev.
"""

from tasks.glue.columns import Columns, configuration
from tasks.glue.task import GlueTable

TABLE = GlueTable(
    folder="MRPC",
    counts={"train": 3668, "dev": 408},
    columns={
        "dev": Columns("#1 String", "#2 String", answer="Quality"),
        "test": Columns("#1 String", "#2 String", row="index"),
    },
    configuration=configuration("mrpc", "sentence1", "sentence2"),
    labels=("not_equivalent", "equivalent"),
    spellings={"0": 0, "1": 1},
    unordered=True,
)
TASK = TABLE.task("mrpc", "pair", ("accuracy", "f1"), chance=279 / 408)

"""MRPC, the Microsoft Research Paraphrase Corpus: are two sentences paraphrases? (Dolan and Brockett 2005).

Source: Microsoft Research, in GLUE's split (dev_ids.tsv).
Split: the official train and dev files; the test file has no labels.
Metrics: accuracy, used in the GLUE score of ELECTRA and ConvBERT, and F1 of `equivalent`. Chance: the larger class of
dev.
"""

from steeplechase.tasks.glue.table import Columns, configuration
from steeplechase.tasks.glue.task import GlueTable

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

"""STS-B, the STS Benchmark: semantic similarity of two sentences, from 0 to 5 (arXiv 1708.00055).

Source: ixa2.si.ehu.eus/stswiki, as redistributed by GLUE.
Split: the official train and dev files; the test file has no labels.
Metrics: Spearman correlation, used in the GLUE score of ELECTRA and ConvBERT, and Pearson correlation. Chance is 0.
"""

from steeplechase.tasks.glue.table import Columns, configuration
from steeplechase.tasks.glue.task import GlueTable

TABLE = GlueTable(
    folder="STS-B",
    counts={"train": 5749, "dev": 1500},
    columns={
        "dev": Columns("sentence1", "sentence2", answer="score"),
        "test": Columns("sentence1", "sentence2", row="index"),
    },
    configuration=configuration("stsb", "sentence1", "sentence2"),
    value_range=(0.0, 5.0),
    unordered=True,
)
TASK = TABLE.task("stsb", "pair", ("spearman", "pearson"), chance=0.0)

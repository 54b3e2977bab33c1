"""WNLI: coreference, Winograd schemas as sentence pairs with the pronoun substituted (Levesque et al. 2012).

Source: the Winograd Schema Challenge, as converted by GLUE.
Split: the official train and dev files; the test file has no labels.
Metric: accuracy. Chance: the larger class of dev. Train and dev share sentences with opposite labels, so a model that
memorises the training set is below chance; the GLUE score of ELECTRA and ConvBERT excludes the task.
"""

from steeplechase.tasks.glue.table import Columns, configuration
from steeplechase.tasks.glue.task import GlueTable

TABLE = GlueTable(
    folder="WNLI",
    counts={"train": 635, "dev": 71},
    columns={
        "dev": Columns("sentence1", "sentence2", answer="label"),
        "test": Columns("sentence1", "sentence2", row="index"),
    },
    configuration=configuration("wnli", "sentence1", "sentence2"),
    labels=("not_entailment", "entailment"),
    spellings={"0": 0, "1": 1},
)
TASK = TABLE.task("wnli", "pair", ("accuracy",), chance=40 / 71)

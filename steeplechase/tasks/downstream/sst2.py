"""SST-2, the Stanford Sentiment Treebank: is a phrase of a film review positive? (Socher et al. 2013).

Source: nlp.stanford.edu/sentiment, as redistributed by GLUE, whose train file has phrases.
Split: the official train and dev files; the test file has no labels.
Metric: accuracy. Chance: the larger class of dev, 444 of 872.
"""

from steeplechase.tasks.glue.table import Columns, configuration
from steeplechase.tasks.glue.task import GlueTable

TABLE = GlueTable(
    folder="SST-2",
    counts={"train": 67349, "dev": 872},
    columns={
        "dev": Columns("sentence", answer="label"),
        "test": Columns("sentence", row="index"),
    },
    configuration=configuration("sst2", "sentence"),
    labels=("negative", "positive"),
    spellings={"0": 0, "1": 1},
)
TASK = TABLE.task("sst2", "single", ("accuracy",), chance=444 / 872)

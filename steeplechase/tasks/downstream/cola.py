"""CoLA, the Corpus of Linguistic Acceptability: is a sentence acceptable English? (arXiv 1805.12471).

Source: nyu-mll.github.io/CoLA, as GLUE redistributes it.
Split: the official train and dev files; the test file has no labels.
Metric: Matthews correlation, which is 0 for predictions that do not depend on the sentence.
"""

from steeplechase.tasks.glue.table import Columns, configuration
from steeplechase.tasks.glue.task import GlueTable

TABLE = GlueTable(
    folder="CoLA",
    counts={"train": 8551, "dev": 1043},
    columns={
        "dev": Columns("sentence", answer="label", all=("source", "label", "mark", "sentence")),
        "test": Columns("sentence", row="index"),
    },
    configuration=configuration("cola", "sentence"),
    labels=("unacceptable", "acceptable"),
    spellings={"0": 0, "1": 1},
)
TASK = TABLE.task("cola", "single", ("matthews", "accuracy"), chance=0.0)

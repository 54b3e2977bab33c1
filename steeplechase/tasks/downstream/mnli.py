"""MultiNLI: does the premise entail the hypothesis, contradict it, or neither? (arXiv 1704.05426).

Source: cims.nyu.edu/~sbowman/multinli, as redistributed by GLUE.
Split: the official train file; dev is the matched dev file. The mismatched dev file, the two test files and GLUE's
diagnostic set (AX) are predicted if they exist. Rows without a gold label (`-`) are skipped and counted.
Metric: accuracy. Chance: the largest class of dev.
"""

from steeplechase.tasks.glue.table import Columns, Configuration
from steeplechase.tasks.glue.task import GlueTable
from steeplechase.tasks.splits import Split

TEST_COLUMNS = Columns("sentence1", "sentence2", row="index")
TABLE = GlueTable(
    folder="MNLI",
    counts={"train": 392_702, "dev": 9_815},
    parts={
        "train": "train.tsv",
        "dev": "dev_matched.tsv",
        "mismatched": "dev_mismatched.tsv",
        "test": "test_matched.tsv",
        "mismatched_test": "test_mismatched.tsv",
        "diagnostic": "../diagnostic/diagnostic.tsv",
    },
    columns={
        "dev": Columns("sentence1", "sentence2", answer="gold_label"),
        "test": TEST_COLUMNS,
        "mismatched_test": TEST_COLUMNS,
        "diagnostic": TEST_COLUMNS,
    },
    configuration=Configuration(
        {
            "train": Split("mnli", "train"),
            "dev": Split("mnli", "validation_matched"),
            "mismatched": Split("mnli", "validation_mismatched"),
            "test": Split("mnli", "test_matched"),
            "mismatched_test": Split("mnli", "test_mismatched"),
            "diagnostic": Split("ax", "test"),
        },
        "premise",
        "hypothesis",
    ),
    labels=("contradiction", "entailment", "neutral"),
    unanswered=frozenset({"-"}),
)
TASK = TABLE.task("mnli", "pair", ("accuracy",), chance=3_479 / 9_815)

"""Does the hypothesis follow from the premise, contradict it, or neither? MultiNLI (arXiv 1704.05426).

Source: cims.nyu.edu/~sbowman/multinli, as GLUE redistributes it. Split: the official train file; dev is the matched
one, and the mismatched one, the two tests and GLUE's diagnostic set (AX) are predicted where they are there. Rows
whose annotators did not agree, `-`, are left out and counted.
Metric: accuracy. Chance: the larger class of dev.
"""

from tasks.glue.columns import Columns, Configuration
from tasks.glue.task import GlueTable
from tasks.splits import Split

TESTED = Columns("sentence1", "sentence2", row="index")
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
        "test": TESTED,
        "mismatched_test": TESTED,
        "diagnostic": TESTED,
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

"""The nine tasks of GLUE (arXiv 1804.07461), from the files that it redistributes.

Dev is the official one; test files have no labels. The first metric is that of the GLUE score of ELECTRA and
ConvBERT. Chance is the share of dev's largest class, 0 for a correlation.
"""

from typing import Any

from steeplechase.tasks.glue.task import Columns, Configuration, GlueTable, configuration
from steeplechase.tasks.labelled.task import DownstreamTask
from steeplechase.tasks.splits import Split

SENTENCES = ("sentence1", "sentence2")
NUMBERED = {"0": 0, "1": 1}
"""The labels as most files write them."""


def _task(
    name: str,
    metrics: tuple[str, ...],
    chance: float,
    texts: tuple[str, ...],
    answer: str = "label",
    row: str = "index",
    **fields: Any,
) -> DownstreamTask:
    """Return the task of a table whose columns of texts have the same names in all files, and in `datasets`."""
    first, second = (*texts, None)[:2]
    assert first is not None
    usual: dict[str, Any] = {
        "columns": {"dev": Columns(first, second, answer=answer), "test": Columns(first, second, row=row)},
        "configuration": configuration(name, first, second),
    }
    table = GlueTable(**{**usual, **fields})
    return table.task(name, "single" if len(texts) == 1 else "pair", metrics, chance)


TASKS = (
    _task(
        "cola",
        ("matthews", "accuracy"),
        0.0,
        ("sentence",),
        folder="CoLA",
        about="CoLA, the Corpus of Linguistic Acceptability: is a sentence acceptable English? (arXiv 1805.12471).",
        counts={"train": 8551, "dev": 1043},
        columns={
            "dev": Columns("sentence", answer="label", all=("source", "label", "mark", "sentence")),
            "test": Columns("sentence", row="index"),
        },
        labels=("unacceptable", "acceptable"),
        spellings=NUMBERED,
    ),
    # the mismatched dev file, the two test files and GLUE's diagnostic set (AX) are predicted if they exist
    _task(
        "mnli",
        ("accuracy",),
        3_479 / 9_815,
        SENTENCES,
        folder="MNLI",
        about="MultiNLI: does the premise entail the hypothesis, contradict it, or neither? (arXiv 1704.05426).",
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
            "dev": Columns(*SENTENCES, answer="gold_label"),
            **dict.fromkeys(("test", "mismatched_test", "diagnostic"), Columns(*SENTENCES, row="index")),
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
        unanswered=frozenset({"-"}),  # rows without a gold label
    ),
    _task(
        "mrpc",
        ("accuracy", "f1"),
        279 / 408,
        ("#1 String", "#2 String"),
        "Quality",
        folder="MRPC",
        about=(
            "MRPC, the Microsoft Research Paraphrase Corpus: are two sentences paraphrases? "
            "(Dolan and Brockett 2005)."
        ),
        counts={"train": 3668, "dev": 408},
        configuration=configuration("mrpc", *SENTENCES),
        labels=("not_equivalent", "equivalent"),
        spellings=NUMBERED,
        unordered=True,
    ),
    _task(
        "qnli",
        ("accuracy",),
        2_761 / 5_463,
        ("question", "sentence"),
        folder="QNLI",
        about=(
            "QNLI: does a sentence contain the answer to a question? Derived from SQuAD 1.1 "
            "(arXiv 1804.07461, section 3.3)."
        ),
        counts={"train": 104_743, "dev": 5_463},
        labels=("entailment", "not_entailment"),
    ),
    _task(
        "qqp",
        ("accuracy", "f1"),
        25_545 / 40_430,
        ("question1", "question2"),
        "is_duplicate",
        "id",
        folder="QQP",
        about="QQP, Quora Question Pairs: are two questions duplicates? (Quora 2017).",
        counts={"train": 363_846, "dev": 40_430},
        labels=("not_duplicate", "duplicate"),
        spellings=NUMBERED,
        unordered=True,
        leaves_out_broken=True,  # rows of the published train file with too few cells
    ),
    _task(
        "rte",
        ("accuracy",),
        146 / 277,
        SENTENCES,
        folder="RTE",
        about=(
            "RTE 1, 2, 3 and 5: textual entailment, does the first sentence entail the second? "
            "(Dagan et al. 2006 and later)."
        ),
        counts={"train": 2490, "dev": 277},
        labels=("entailment", "not_entailment"),
    ),
    _task(
        "sst2",
        ("accuracy",),
        444 / 872,
        ("sentence",),
        folder="SST-2",
        about="SST-2, the Stanford Sentiment Treebank: is a phrase of a film review positive? (Socher et al. 2013).",
        counts={"train": 67_349, "dev": 872},
        labels=("negative", "positive"),
        spellings=NUMBERED,
    ),
    _task(
        "stsb",
        ("spearman", "pearson"),
        0.0,
        SENTENCES,
        "score",
        folder="STS-B",
        about="STS-B, the STS Benchmark: semantic similarity of two sentences, from 0 to 5 (arXiv 1708.00055).",
        counts={"train": 5749, "dev": 1500},
        value_range=(0.0, 5.0),
        unordered=True,
    ),
    # train and dev share sentences with opposite labels, so that a model which memorises train is below chance
    _task(
        "wnli",
        ("accuracy",),
        40 / 71,
        SENTENCES,
        folder="WNLI",
        about=(
            "WNLI: coreference, Winograd schemas as sentence pairs with the pronoun substituted "
            "(Levesque et al. 2012)."
        ),
        counts={"train": 635, "dev": 71},
        labels=("not_entailment", "entailment"),
        spellings=NUMBERED,
    ),
)

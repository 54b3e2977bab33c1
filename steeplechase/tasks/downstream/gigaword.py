"""Gigaword: headlines of news articles from their first sentences. Rush et al. 2015 (arXiv 1509.00685).

Source: github.com/harvardnlp/sent-summary, in the layout of UNILM's release (`org_data`): a file of sources and
one of targets, one text a line; digits are `#`. Metrics: ROUGE-L, ROUGE-1 and ROUGE-2 (F1, stemmed) by rouge-score.
"""

from steeplechase.tasks.labelled.text_pair_files import SUMMARIES, TextPairFiles

FILES = TextPairFiles(
    folder="gigaword",
    collection="summarization",
    origin="github.com/harvardnlp/sent-summary",
    parts={"train": "train.src.txt", "dev": "dev.src.txt", "test": "test.src.txt"},
    targets={"train": "train.tgt.txt", "dev": "dev.tgt.txt", "test": "test.tgt.txt"},
    counts={"train": 3_803_957, "dev": 189_651},
    metrics=SUMMARIES,
)
TASK = FILES.task("gigaword")

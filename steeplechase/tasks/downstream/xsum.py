"""XSum: one-sentence summaries of BBC articles. Narayan et al. 2018 (arXiv 1808.08745).

Source: huggingface.co/datasets/EdinburghNLP/xsum, as one object a line with `document` and `summary`. Metrics:
ROUGE-L, ROUGE-1 and ROUGE-2 (F1, stemmed) by rouge-score.
"""

from steeplechase.tasks.labelled.text_pair_files import SUMMARIES, TextPairFiles

FILES = TextPairFiles(
    folder="xsum",
    collection="summarization",
    origin="huggingface.co/datasets/EdinburghNLP/xsum",
    parts={"train": "train.jsonl", "dev": "validation.jsonl", "test": "test.jsonl"},
    counts={"train": 204_045, "dev": 11_332},
    metrics=SUMMARIES,
    source="document",
    target="summary",
)
TASK = FILES.task("xsum")

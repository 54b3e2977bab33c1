"""CNN/DailyMail: the highlights of news articles. Hermann et al. 2015; version 3.0.0 of See et al. 2017.

Source: huggingface.co/datasets/abisee/cnn_dailymail, as one object a line with `article` and `highlights`, whose
sentences are lines. Metrics: ROUGE-Lsum, which splits at lines, ROUGE-1 and ROUGE-2 (F1, stemmed) by rouge-score.
"""

from steeplechase.tasks.labelled.text_pair_files import TextPairFiles

FILES = TextPairFiles(
    folder="cnn_dailymail",
    collection="summarization",
    origin="huggingface.co/datasets/abisee/cnn_dailymail",
    parts={"train": "train.jsonl", "dev": "validation.jsonl", "test": "test.jsonl"},
    counts={"train": 287_113, "dev": 13_368},
    metrics=("rougeLsum", "rouge1", "rouge2"),
    source="article",
    target="highlights",
)
TASK = FILES.task("cnn_dailymail")

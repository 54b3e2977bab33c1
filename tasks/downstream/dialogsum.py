"""DialogSum: summaries of spoken dialogues. Chen et al. 2021 (arXiv 2105.06762).

Source: github.com/cylnlp/dialogsum, DialogSum_Data: one object a line; the test file has three references and is left
out. Metrics: ROUGE-L, ROUGE-1 and ROUGE-2 (F1, stemmed) by rouge-score.
"""

from tasks.labelled.text_pair_files import SUMMARIES, TextPairFiles

FILES = TextPairFiles(
    folder="dialogsum",
    collection="summarization",
    origin="github.com/cylnlp/dialogsum, DialogSum_Data",
    parts={"train": "dialogsum.train.jsonl", "dev": "dialogsum.dev.jsonl"},
    counts={"train": 12_460, "dev": 500},
    metrics=SUMMARIES,
    source="dialogue",
    target="summary",
)
TASK = FILES.task("dialogsum")

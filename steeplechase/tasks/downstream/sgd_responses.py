"""Schema-Guided Dialogue: the assistant's next turn, from those before it. Rastogi et al. 2020 (arXiv 1909.05855).

Source: github.com/google-research-datasets/dstc8-schema-guided-dialogue: a folder per part, of which every file
`dialogues_*.json` that is there is read; xz-compressed files are read too. A pair for each turn of the assistant: the
turns before it, a line each with its speaker, and its text. Metrics: BLEU and chrF of detokenised text by sacrebleu;
the report has the perplexity of the responses beside them, which BART (Table 1, ConvAI2) and MASS (Table 6) report.
"""

from steeplechase.tasks.labelled.dialogue_files import DialogueFiles

FILES = DialogueFiles(
    folder="sgd",
    collection="dialogue",
    origin="github.com/google-research-datasets/dstc8-schema-guided-dialogue",
    parts={"train": "train/dialogues_001.json*", "dev": "dev/dialogues_001.json*"},
    siblings="dialogues_[0-9]*.json*",
)
TASK = FILES.task("sgd_responses")

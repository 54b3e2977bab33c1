"""Tasks of sources and targets: summaries (ROUGE F1, stemmed, by rouge-score), translations and answers in dialogues.

Translations and answers have BLEU and chrF of detokenised text by sacrebleu. Answers also have their perplexity,
which BART (Table 1, ConvAI2) and MASS (Table 6) report; values with different tokenizers are not comparable.
"""

from dataclasses import replace

from steeplechase.tasks.labelled.dialogue_files import DialogueFiles, MovieDialogueFiles
from steeplechase.tasks.labelled.example_files import SUMMARIES, TRANSLATION, TextPairFiles

CNN_DAILYMAIL = TextPairFiles(
    about=("CNN/DailyMail: the highlights of news articles. Hermann et al. 2015; version 3.0.0 of See et al. 2017."),
    folder="cnn_dailymail",
    collection="summarization",
    origin="huggingface.co/datasets/abisee/cnn_dailymail",
    parts={"train": "train.jsonl", "dev": "validation.jsonl", "test": "test.jsonl"},
    counts={"train": 287_113, "dev": 13_368},
    metrics=("rougeLsum", "rouge1", "rouge2"),  # sentences are lines, at which rougeLsum splits
    source="article",
    target="highlights",
)
GIGAWORD = TextPairFiles(
    about="Gigaword: headlines of news articles from their first sentences. Rush et al. 2015 (arXiv 1509.00685).",
    folder="gigaword",
    collection="summarization",
    origin="github.com/harvardnlp/sent-summary",
    parts={"train": "train.src.txt", "dev": "dev.src.txt", "test": "test.src.txt"},
    targets={"train": "train.tgt.txt", "dev": "dev.tgt.txt", "test": "test.tgt.txt"},
    counts={"train": 3_803_957, "dev": 189_651},
    metrics=SUMMARIES,
)
"""In the layout of UNILM's release (`org_data`): digits are `#`."""
XSUM = TextPairFiles(
    about="XSum: one-sentence summaries of BBC articles. Narayan et al. 2018 (arXiv 1808.08745).",
    folder="xsum",
    collection="summarization",
    origin="huggingface.co/datasets/EdinburghNLP/xsum",
    parts={"train": "train.jsonl", "dev": "validation.jsonl", "test": "test.jsonl"},
    counts={"train": 204_045, "dev": 11_332},
    metrics=SUMMARIES,
    source="document",
    target="summary",
)
DE_EN = TextPairFiles(
    about="Multi30k, German to English: captions of photographs. Elliott et al. 2016 (arXiv 1605.00459), task 1.",
    folder="multi30k",
    collection="mt",
    origin="github.com/multi30k/dataset, data/task1/raw",
    parts={"train": "train.de.gz", "dev": "val.de.gz", "test": "test_2016_flickr.de.gz"},
    targets={"train": "train.en.gz", "dev": "val.en.gz", "test": "test_2016_flickr.en.gz"},
    counts={"train": 29_000, "dev": 1014},
    metrics=TRANSLATION,
)
EN_DE = replace(
    DE_EN,
    about="Multi30k, English to German: `multi30k_de_en` in the other direction.",
    parts=DE_EN.targets,
    targets=DE_EN.parts,
)
CORNELL = MovieDialogueFiles(
    about=(
        "Cornell Movie-Dialogs: the answer to an utterance of a film. Danescu-Niculescu-Mizil and Lee 2011 (CMCL)."
    ),
    folder="cornell",
    collection="dialogue",
    origin="www.cs.cornell.edu/~cristian/Cornell_Movie-Dialogs_Corpus.html",
    dev_percent=7,
)
"""Every utterance and the next one of its conversation are a pair. MASS (arXiv 1905.02450, section 4.4) has 140,000
pairs, of which a random 10,000 are for validation; here 7% of the films are, so that no film is in both parts."""
SGD = DialogueFiles(
    about=(
        "Schema-Guided Dialogue: the assistant's next turn, from those before it. "
        "Rastogi et al. 2020 (arXiv 1909.05855)."
    ),
    folder="sgd",
    collection="dialogue",
    origin="github.com/google-research-datasets/dstc8-schema-guided-dialogue",
    parts={"train": "train/dialogues_001.json*", "dev": "dev/dialogues_001.json*"},
    siblings="dialogues_[0-9]*.json*",
)
TASKS = (
    CNN_DAILYMAIL.task("cnn_dailymail"),
    GIGAWORD.task("gigaword"),
    XSUM.task("xsum"),
    DE_EN.task("multi30k_de_en"),
    EN_DE.task("multi30k_en_de"),
    CORNELL.task("cornell_responses"),
    SGD.task("sgd_responses"),
)

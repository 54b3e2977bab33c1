"""Multi30k, German to English: captions of photographs. Elliott et al. 2016 (arXiv 1605.00459), task 1.

Source: github.com/multi30k/dataset, data/task1/raw: a file per language and part, one sentence a line; the test part
is that of 2016 (Flickr). Metrics: BLEU and chrF of detokenised text by sacrebleu.
"""

from steeplechase.tasks.labelled.text_pair_files import TRANSLATION, TextPairFiles

FILES = TextPairFiles(
    folder="multi30k",
    collection="mt",
    origin="github.com/multi30k/dataset, data/task1/raw",
    parts={"train": "train.de.gz", "dev": "val.de.gz", "test": "test_2016_flickr.de.gz"},
    targets={"train": "train.en.gz", "dev": "val.en.gz", "test": "test_2016_flickr.en.gz"},
    counts={"train": 29_000, "dev": 1014},
    metrics=TRANSLATION,
)
TASK = FILES.task("multi30k_de_en")

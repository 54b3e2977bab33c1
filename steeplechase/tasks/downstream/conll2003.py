"""CoNLL-2003, named entity recognition in English news text, fine-tuned (aclanthology.org/W03-0419).

Source: clips.uantwerpen.be/conll2003/ner; the texts are Reuters', under its licence. Four columns, separated by
spaces: word, part of speech, chunk and entity; `-DOCSTART-` lines begin a document. IOB1 tags, as in the official
files, are converted to IOB2; files in IOB2 are read unchanged.
Method: all weights are trained; the first subword of a word is tagged (BERT, arXiv 1810.04805, section 5.3).
Metric: entity F1 as in conlleval; truncated words have no entities. Chance is 0, the F1 without any predicted entity.
"""

from steeplechase.tasks.labelled.conll import TaggedFiles

ENTITY_TYPES = ("LOC", "MISC", "ORG", "PER")
TASK = TaggedFiles(
    parts={"train": "eng.train", "dev": "eng.testa", "test": "eng.testb"},
    counts={"train": 14_041, "dev": 3_250},
    folder="conll2003",
    collection="ner",
    origin="clips.uantwerpen.be/conll2003/ner",
    tags=("O", *(f"{prefix}-{entity_type}" for entity_type in ENTITY_TYPES for prefix in ("B", "I"))),
    chance=0.0,
    columns=4,
    word=0,
    tag=3,
    separator=" ",
    document="-DOCSTART-",
    converts_to_iob2=True,
    method="fine_tune",
).task("conll2003", ("entity_f1", "entity_precision", "entity_recall"))

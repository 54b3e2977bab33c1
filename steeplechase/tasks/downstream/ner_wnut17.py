"""WNUT17: named entity recognition, emerging entities in social media text (aclanthology.org/W17-4418).

Source: noisy-text.github.io/2017/emerging-rare-entities.html, two columns, tags in BIO.
Method: linear probe of the frozen encoder, on the first subword of each word.
Metric: entity F1 as in conlleval. Chance is 0, the F1 without any predicted entity.
"""

from steeplechase.tasks.labelled.conll import TaggedFiles

ENTITY_TYPES = ("corporation", "creative-work", "group", "location", "person", "product")
FILES = TaggedFiles(
    parts={"train": "wnut17train.conll", "dev": "emerging.dev.conll", "test": "emerging.test.annotated"},
    counts={"train": 3394, "dev": 1009},
    folder="wnut17",
    collection="ner",
    origin="github.com/leondz/emerging_entities_17",
    tags=("O", *(f"{prefix}-{entity_type}" for entity_type in ENTITY_TYPES for prefix in ("B", "I"))),
    chance=0.0,
    columns=2,
    word=0,
    tag=1,
)
TASK = FILES.task("ner_wnut17", ("entity_f1", "entity_precision", "entity_recall"))

"""Which words name a person, a place or another entity? WNUT17, emerging entities (aclanthology.org/W17-4418).

Source: noisy-text.github.io/2017/emerging-rare-entities.html, two columns, tags in BIO; text of social media.
Method: a linear probe of the frozen encoder, on the first subword of each word. Metric: F1 of whole entities, as
conlleval computes it; tagging every word as no entity gives 0.
"""

from tasks.labelled.conll import TaggedFiles

KINDS = ("corporation", "creative-work", "group", "location", "person", "product")
TASK = TaggedFiles(
    files={"train": "wnut17train.conll", "dev": "emerging.dev.conll", "test": "emerging.test.annotated"},
    counts={"train": 3394, "dev": 1009},
    folder="wnut17",
    collection="ner",
    origin="github.com/leondz/emerging_entities_17",
    tags=("O", *(f"{beginning}-{kind}" for kind in KINDS for beginning in ("B", "I"))),
    chance=0.0,
    columns=2,
    word=0,
    tag=1,
).task("ner_wnut17", ("entity_f1", "entity_precision", "entity_recall"))

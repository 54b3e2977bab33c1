"""Tasks of tagged words: entities, parts of speech and supersenses, fine-tuned or probed.

Fine-tuned, all weights are trained and the first subword of a word is tagged (BERT, arXiv 1810.04805, section 5.3); a
linear probe reads the first subword of each word in the frozen encoder. Entities are scored as in conlleval,
supersenses as in dimsumeval.py; truncated words have no entities. Chance is 0 for F1, without any predicted entity.
"""

from dataclasses import replace

from steeplechase.tasks.labelled.conll import TaggedFiles

ENTITY_METRICS = ("entity_f1", "entity_precision", "entity_recall")
SUPERSENSE_METRICS = ("supersense_f1", "supersense_precision", "supersense_recall", "accuracy")
UNIVERSAL_TAGS = "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X _"
NOUNS = (
    "act animal artifact attribute body cognition communication event feeling food group location motive "
    "natural_object other person phenomenon plant possession process quantity relation shape state substance time"
)
VERBS = (
    "body change cognition communication competition consumption contact creation emotion motion perception "
    "possession social stative weather"
)


def _entity_tags(*types: str) -> tuple[str, ...]:
    return ("O", *(f"{prefix}-{each}" for each in types for prefix in ("B", "I")))


CONLL2003 = TaggedFiles(
    about="CoNLL-2003, named entity recognition in English news text, fine-tuned (aclanthology.org/W03-0419).",
    parts={"train": "eng.train", "dev": "eng.testa", "test": "eng.testb"},
    counts={"train": 14_041, "dev": 3_250},
    folder="conll2003",
    collection="ner",
    origin="clips.uantwerpen.be/conll2003/ner",
    tags=_entity_tags("LOC", "MISC", "ORG", "PER"),
    chance=0.0,
    columns=4,
    word=0,
    tag=3,
    separator=" ",
    document="-DOCSTART-",
    converts_to_iob2=True,
    method="fine_tune",
)
"""The texts are Reuters', under its licence. The official files are in IOB1; files in IOB2 are read unchanged."""
WNUT17 = TaggedFiles(
    about="WNUT17: named entity recognition, emerging entities in social media text (aclanthology.org/W17-4418).",
    parts={"train": "wnut17train.conll", "dev": "emerging.dev.conll", "test": "emerging.test.annotated"},
    counts={"train": 3394, "dev": 1009},
    folder="wnut17",
    collection="ner",
    origin="github.com/leondz/emerging_entities_17",
    tags=_entity_tags("corporation", "creative-work", "group", "location", "person", "product"),
    chance=0.0,
    columns=2,
    word=0,
    tag=1,
)
EWT = TaggedFiles(
    about="Part-of-speech tagging: Universal Dependencies, English Web Treebank (aclanthology.org/L14-1067).",
    parts={part: f"en_ewt-ud-{part}.conllu" for part in ("train", "dev", "test")},
    counts={"train": 12544, "dev": 2001},
    folder="UD_English-EWT",
    collection="pos",
    origin="github.com/UniversalDependencies/UD_English-EWT",
    tags=tuple(UNIVERSAL_TAGS.split()),
    chance=0.168,  # share of NOUN, the most frequent tag, in the dev file of release 2.16
    columns=10,
    word=1,
    tag=3,
    numbered=True,
)
DIMSUM = TaggedFiles(
    about="DiMSUM 2016: supersense tagging of reviews and tweets, fine-tuned (aclanthology.org/S16-1084).",
    parts={"train": "dimsum16.train", "dev": "dimsum16.train", "test": "dimsum16.test"},
    counts={"train": 4359, "dev": 440},
    folder="dimsum16",
    collection="supersense",
    origin="github.com/dimsum16/dimsum-data",
    tags=("O", *(f"n.{sense}" for sense in NOUNS.split()), *(f"v.{sense}" for sense in VERBS.split())),
    chance=0.0,
    columns=9,
    word=1,
    tag=7,
    numbered=True,
    untagged="O",
    dev_percent=10,
    method="fine_tune",
)
"""The eighth column has a supersense at the first word of an expression, and is empty at others. There is no dev
file: a tenth of the train sentences, by a hash of their words, is dev."""
WNUT17_TUNED = replace(
    WNUT17,
    about="WNUT17, emerging entities in social media text, fine-tuned (aclanthology.org/W17-4418).",
    method="fine_tune",
)
DIMSUM_PROBE = replace(
    DIMSUM,
    about="DiMSUM 2016: supersense tagging with a frozen encoder (aclanthology.org/S16-1084).",
    method="linear_probe",
)
TASKS = (
    CONLL2003.task("conll2003", ENTITY_METRICS),
    WNUT17.task("ner_wnut17", ENTITY_METRICS),
    WNUT17_TUNED.task("wnut17", ENTITY_METRICS),
    EWT.task("pos_ewt", ("accuracy",)),
    DIMSUM.task("supersense_dimsum", SUPERSENSE_METRICS),
    DIMSUM_PROBE.task("supersense_dimsum_probe", SUPERSENSE_METRICS),
)

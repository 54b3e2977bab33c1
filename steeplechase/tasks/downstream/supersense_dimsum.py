"""DiMSUM 2016: supersense tagging of reviews and tweets, fine-tuned (aclanthology.org/S16-1084).

Source: github.com/dimsum16/dimsum-data, nine columns; the eighth has one of 41 supersenses of nouns and verbs at the
first word of an expression, and is empty at other words, which are tagged `O`. There is no dev file: a tenth of the
train sentences, by a hash of their words, is dev. `supersense_dimsum_probe` is the same with a frozen encoder.
Method: all weights are trained; the first subword of a word is tagged (BERT, arXiv 1810.04805, section 5.3).
Metric: F1 of supersenses as in dimsumeval.py. Chance is 0, the F1 without any predicted supersense; the reference is
the most frequent tag of each word.
"""

from steeplechase.tasks.labelled.conll import TaggedFiles

NOUNS = (
    "act animal artifact attribute body cognition communication event feeling food group location motive "
    "natural_object other person phenomenon plant possession process quantity relation shape state substance time"
)
VERBS = (
    "body change cognition communication competition consumption contact creation emotion motion perception "
    "possession social stative weather"
)
METRICS = ("supersense_f1", "supersense_precision", "supersense_recall", "accuracy")
FILES = TaggedFiles(
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
TASK = FILES.task("supersense_dimsum", METRICS)

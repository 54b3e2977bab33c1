"""Part-of-speech tagging: Universal Dependencies, English Web Treebank (aclanthology.org/L14-1067).

Source: github.com/UniversalDependencies/UD_English-EWT, CoNLL-U, universal tags (fourth column).
Method: linear probe of the frozen encoder, on the first subword of each word.
Metric: accuracy of words. The reference, the most frequent tag of each word, is high, because most words nearly
always have the same tag.
"""

from steeplechase.tasks.labelled.conll import TaggedFiles

_UNIVERSAL_TAGS = "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X _"
TASK = TaggedFiles(
    parts={part: f"en_ewt-ud-{part}.conllu" for part in ("train", "dev", "test")},
    counts={"train": 12544, "dev": 2001},
    folder="UD_English-EWT",
    collection="pos",
    origin="github.com/UniversalDependencies/UD_English-EWT",
    tags=tuple(_UNIVERSAL_TAGS.split()),
    chance=0.168,  # share of NOUN, the most frequent tag, in the dev file of release 2.16
    columns=10,
    word=1,
    tag=3,
    numbered=True,
).task("pos_ewt", ("accuracy",))

"""Which part of speech is each word? Universal Dependencies, English Web Treebank (aclanthology.org/L14-1067).

Source: github.com/UniversalDependencies/UD_English-EWT, CoNLL-U, the universal tags (fourth column).
Method: a linear probe of the frozen encoder, on the first subword of each word. Metric: accuracy of words. Most words
have one tag in most places, so the reference is the most frequent tag of each word, and it is high.
"""

from tasks.labelled.conll import TaggedFiles

_UNIVERSAL = "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X _"
TASK = TaggedFiles(
    files={part: f"en_ewt-ud-{part}.conllu" for part in ("train", "dev", "test")},
    counts={"train": 12544, "dev": 2001},
    folder="UD_English-EWT",
    collection="pos",
    origin="github.com/UniversalDependencies/UD_English-EWT",
    tags=tuple(_UNIVERSAL.split()),
    chance=0.168,  # measured on the dev file of 2.16: NOUN
    columns=10,
    word=1,
    tag=3,
    numbered=True,
).task("pos_ewt", ("accuracy",))

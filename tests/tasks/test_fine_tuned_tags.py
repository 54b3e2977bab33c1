"""Tagging: CoNLL and DiMSUM files, entities and supersenses scored by words."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steeplechase.tasks.downstream import find_task
from steeplechase.tasks.labelled.conll import to_iob2
from steeplechase.tasks.labelled.forms import encode_words
from steeplechase.tasks.labelled.scoring import entities, entity_scores, score_tags, sentence_scores
from steeplechase.tasks.labelled.task import Example, Examples, Part
from steeplechase.tasks.references.most_frequent import most_frequent_tag_scores
from tests.factories.published_data import published
from tests.factories.small_experiments import WORDS
from tests.factories.task_files import files_of, read_part

TASK = find_task("conll2003")
TAGS = st.lists(st.sampled_from(TASK.labels[:7]), max_size=12)


def read(text: str, folder: Path) -> Part:
    (folder / "eng.testa").write_text(text, encoding="utf-8")
    return read_part("conll2003", folder / "eng.testa")


def named(part: Part) -> list[list[str]]:
    return [[TASK.labels[tag] for tag in example.tags] for example in part.examples]


def test_iob1_is_converted_and_documents_and_blank_lines_end_sentences(tmp_path: Path) -> None:
    text = """-DOCSTART- -X- O O

EU NNP I-NP I-ORG
rejects VBZ I-VP O
 \t
Bonn NNP I-NP I-LOC
Berlin NNP I-NP B-LOC
Kohl NNP I-NP I-PER
-DOCSTART- -X- -X- O
Paris  NNP  I-NP  I-LOC"""
    part = read(text, tmp_path)
    assert [example.first for example in part.examples] == ["EU rejects", "Bonn Berlin Kohl", "Paris"]
    assert named(part) == [["B-ORG", "O"], ["B-LOC", "B-LOC", "B-PER"], ["B-LOC"]]
    assert [example.row for example in part.examples] == ["3", "6", "10"]


@given(TAGS)
def test_conversion_keeps_the_entities_and_is_idempotent(tags: list[str]) -> None:
    sentence = [0] * len(tags)
    converted = to_iob2(tags)
    assert list(entities(converted, sentence)) == list(entities(tags, sentence))
    assert to_iob2(converted) == converted
    starts = {first for _, first, _, _ in entities(tags, sentence)}
    assert {word for word, tag in enumerate(converted) if tag.startswith("B-")} == starts


def test_the_official_files_have_the_published_numbers() -> None:
    """Tjong Kim Sang and De Meulder 2003, Tables 1 and 2."""
    folder = published("ner/conll2003")
    for part, sentences, tokens in (("train", 14_041, 203_621), ("dev", 3_250, 51_362), ("test", 3_453, 46_435)):
        examples = read_part("conll2003", folder / files_of("conll2003").parts[part], part).examples
        assert (len(examples), sum(len(example.tags) for example in examples)) == (sentences, tokens)
        if part == "train":
            tags = [TASK.labels[tag] for example in examples for tag in example.tags]
            counts = {kind: tags.count(f"B-{kind}") for kind in ("LOC", "PER", "ORG", "MISC")}
            assert counts == {"LOC": 7_140, "PER": 6_600, "ORG": 6_321, "MISC": 3_438}


@given(st.lists(st.tuples(TAGS, st.randoms()), min_size=1, max_size=4))
def test_entity_scores_are_those_of_seqeval(sentences: list[tuple[list[str], object]]) -> None:
    metrics = pytest.importorskip("seqeval.metrics", reason="seqeval is in the development extra")
    references = [tags for tags, _ in sentences]
    predictions = [random.sample(tags, len(tags)) for tags, random in sentences]  # type: ignore[attr-defined]
    flat = [tag for tags in references for tag in tags]
    numbers = [number for number, tags in enumerate(references) for _ in tags]
    found = entity_scores([tag for tags in predictions for tag in tags], flat, numbers)
    expected = {
        "entity_f1": metrics.f1_score(references, predictions, zero_division=0),
        "entity_precision": metrics.precision_score(references, predictions, zero_division=0),
        "entity_recall": metrics.recall_score(references, predictions, zero_division=0),
    }
    assert found == {name: pytest.approx(value) for name, value in expected.items()}


def test_truncated_entities_are_missed() -> None:
    begin = TASK.labels.index("B-PER")
    sentence = Example("w1 w2 w3 w4 w5", tags=(begin, 0, 0, 0, begin))
    words = encode_words([sentence], WORDS, 6)  # [CLS], four words, [SEP]
    assert words.sequences.truncated == 1
    default = words.default_tag(TASK.labels)
    assert TASK.labels[default] == "O"
    predictions = [default if position == -1 else tag for _, position, tag in words.words.tolist()]
    scores = score_tags(TASK, predictions, words.tags, words.sentences)
    assert (scores["entity_precision"], scores["entity_recall"]) == (100.0, 50.0)
    assert sentence_scores(predictions, words) == {"exact_match": [0.0]}


def test_without_an_outside_tag_truncated_words_have_the_most_frequent_one() -> None:
    words = encode_words([Example("w1 w2 w3", tags=(2, 1, 2))], WORDS, 8)
    assert words.default_tag(("NOUN", "VERB", "ADJ")) == 2


@given(st.lists(st.lists(st.integers(0, 8), min_size=1, max_size=9), min_size=1, max_size=4))
def test_targets_are_on_first_subwords_alone(tags: list[list[int]]) -> None:
    examples = [Example(" ".join(f"w{tag}" for tag in each), tags=tuple(each)) for each in tags]
    words = encode_words(examples, WORDS, 8)
    targets = words.targets(-100)
    assert targets.shape == words.sequences.tokens.shape
    for row, each in zip(targets, tags, strict=True):
        assert row[row != -100].tolist() == each[:6]
        assert np.flatnonzero(row != -100).tolist() == list(range(1, 1 + min(6, len(each))))


def test_dimsum_has_the_supersense_of_the_eighth_column_and_a_share_of_train_is_dev(tmp_path: Path) -> None:
    rows = [f"{n}\t{w}\t{w.lower()}\tNOUN\tO\t0\t\t{s}\ts1" for n, w, s in ((1, "Dogs", "n.animal"), (2, "the", ""))]
    path = tmp_path / "dimsum16.train"
    path.write_text("\n".join([*rows, "", "1\tOther\tother\tNOUN\tO\t0\t\t\ts2", ""]), encoding="utf-8")
    task = find_task("supersense_dimsum")
    parts = {part: read_part("supersense_dimsum", path, part).examples for part in ("train", "dev", "test")}
    assert [[task.labels[tag] for tag in each.tags] for each in parts["test"]] == [["n.animal", "O"], ["O"]]
    assert {each.first for each in (*parts["train"], *parts["dev"])} == {each.first for each in parts["test"]}
    assert len(parts["train"]) + len(parts["dev"]) == 2
    assert find_task("supersense_dimsum_probe").method == "linear_probe"


@given(st.lists(st.tuples(*[st.sampled_from(find_task("supersense_dimsum").labels[:4])] * 2), min_size=1))
def test_supersense_scores_leave_out_words_without_one(pairs: list[tuple[str, str]]) -> None:
    """The measures of DiMSUM's script: correct supersenses over those predicted, and over those expected."""
    metrics = pytest.importorskip("sklearn.metrics")
    task = find_task("supersense_dimsum")
    found, expected = ([task.labels.index(pair[side]) for pair in pairs] for side in (0, 1))
    scores = score_tags(task, found, expected, [0] * len(pairs))
    labels = list(range(1, len(task.labels)))
    oracle = metrics.precision_recall_fscore_support(expected, found, labels=labels, average="micro", zero_division=0)
    names = ("supersense_precision", "supersense_recall", "supersense_f1")
    if all(tag == "O" for _, tag in pairs):  # nothing to be found has no score
        assert not {*names} & scores.keys()
        return
    assert [scores[name] for name in names] == pytest.approx([100 * value for value in oracle[:3]])


def test_the_most_frequent_tag_of_each_word_on_dimsum() -> None:
    path = published("supersense/dimsum16/dimsum16.train")
    task = find_task("supersense_dimsum")
    train, dev = (read_part(task.name, path, part).examples for part in ("train", "dev"))
    assert {"train": len(train), "dev": len(dev)} == files_of(task.name).counts
    scores = most_frequent_tag_scores(task, Examples(train, dev))
    assert scores["supersense_f1"] == pytest.approx(57.52, abs=0.01)

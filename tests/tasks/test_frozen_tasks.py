"""Tasks on the frozen encoder: CoNLL and BLiMP files, encodings, and scores equal to reference implementations."""

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steeplechase.foundation.errors import CorruptionError
from steeplechase.tasks.downstream import find_task
from steeplechase.tasks.labelled.forms import (
    NO_POSITION,
    encode_pairs,
    encode_words,
    load_groups,
    load_words,
    save_groups,
    save_words,
)
from steeplechase.tasks.labelled.scoring import accuracy_by_group, pair_accuracy, score_tags
from steeplechase.tasks.labelled.task import Example, Examples
from steeplechase.tasks.references.most_frequent import most_frequent_tag_scores
from steeplechase.tasks.tokenizer import WordPiece
from steeplechase.tasks.vocabulary import SPECIAL_TOKENS
from tests.factories.published_data import published
from tests.factories.small_experiments import WORDS
from tests.factories.task_files import read_part

NER, POS = find_task("ner_wnut17"), find_task("pos_ewt")


def written(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def test_an_empty_line_ends_a_sentence(tmp_path: Path) -> None:
    part = read_part("ner_wnut17", written(tmp_path, "a.conll", "Anna\tB-person\nsings\tO\n\t\nOslo\tB-location\n"))
    assert [example.first for example in part.examples] == ["Anna sings", "Oslo"]
    assert [[NER.labels[tag] for tag in example.tags] for example in part.examples] == [
        ["B-person", "O"],
        ["B-location"],
    ]
    assert [example.row for example in part.examples] == ["1", "4"]


def test_ranges_empty_nodes_and_comments_of_conll_u_are_skipped(tmp_path: Path) -> None:
    rest = "\t".join("_" * 6)
    lines = [
        "# text = don't go",
        f"1-2\tdon't\t_\t_\t{rest}",
        f"1\tdo\tdo\tAUX\t{rest}",
        f"2\tn't\tnot\tPART\t{rest}",
        f"2.1\tgone\tgo\tVERB\t{rest}",
        f"3\t#\t#\tSYM\t{rest}",
    ]
    part = read_part("pos_ewt", written(tmp_path, "a.conllu", "\n".join(lines) + "\n"))
    assert [example.first for example in part.examples] == ["do n't #"]
    assert [POS.labels[tag] for tag in part.examples[0].tags] == ["AUX", "PART", "SYM"]


def archive(folder: Path, files: dict[str, str]) -> Path:
    with zipfile.ZipFile(folder / "BLiMP.zip", "w") as zipped:
        for name, text in files.items():
            zipped.writestr(name, text)
    return folder / "BLiMP.zip"


def line(**changes: object) -> str:
    pair = {"sentence_good": "Cats sleep.", "sentence_bad": "Cats sleeps.", "linguistics_term": "agreement"}
    return json.dumps({**pair, "UID": "regular", "pairID": "0", **changes})


def test_an_archive_is_read_by_paradigm_without_resource_forks(tmp_path: Path) -> None:
    other = line(UID="irregular", pairID="7")
    files = {"data/b.jsonl": line() + "\n", "data/a.jsonl": other, "__MACOSX/data/._a.jsonl": "\x00", "data/": ""}
    pairs = read_part("blimp", archive(tmp_path, files)).examples
    assert [(pair.row, pair.group) for pair in pairs] == [("irregular/7", "agreement"), ("regular/0", "agreement")]
    assert (pairs[0].first, pairs[0].second) == ("Cats sleep.", "Cats sleeps.")


def test_the_published_files_are_read_completely() -> None:
    pairs = read_part("blimp", published("probing/blimp/BLiMP.zip")).examples
    assert len(pairs) == 67_000
    assert len({pair.row for pair in pairs}) == 67_000
    assert len({pair.row.partition("/")[0] for pair in pairs}) == 67
    train = read_part("ner_wnut17", published("ner/wnut17/wnut17train.conll")).examples
    assert len(train) == 3394
    tags = [NER.labels[tag] for example in train for tag in example.tags]
    assert sum(tag.startswith("B-") for tag in tags) == 1975  # as the paper's Table 2 counts


def test_correct_tags_score_100_and_no_entities_0() -> None:
    tags = [NER.labels.index("B-person"), 0, NER.labels.index("B-group")]
    assert score_tags(NER, tags, tags, [0, 0, 0]) == dict.fromkeys(NER.metrics, 100.0)
    assert score_tags(NER, [0, 0, 0], tags, [0, 0, 0]) == dict.fromkeys(NER.metrics, 0.0)
    assert score_tags(POS, [1, 2, 3, 4], [1, 2, 0, 0], [0] * 4) == {"accuracy": 50.0}
    with pytest.raises(ValueError, match="0 predictions for 0 references"):
        score_tags(POS, [], [], [])


LETTERS = WordPiece(
    [*SPECIAL_TOKENS, *"abcdefgh.,'", *(f"##{letter}" for letter in "abcdefgh")], lowercase=True
)  # each letter is a subword
SENTENCES = st.lists(st.text("abcdefgh.,'é\u00ad", min_size=1, max_size=6), min_size=1, max_size=8)


@given(SENTENCES, st.integers(4, 24))
def test_a_word_has_the_position_of_its_first_subword_or_none(words: list[str], length: int) -> None:
    example = Example(" ".join(words), tags=tuple(range(len(words))))
    encoded = encode_words([example], LETTERS, length)
    assert encoded.tags == list(range(len(words)))
    before = 1
    for word, position in zip(words, encoded.words[:, 1], strict=True):
        own = len(LETTERS.encode([word])[0])
        fits = own > 0 and before < length - 1
        assert position == (before if fits else NO_POSITION)
        before += own


def test_encoded_words_survive_a_round_trip_and_damage_is_an_error(tmp_path: Path) -> None:
    encoded = encode_words([Example("a b", tags=(0, 1)), Example("c", tags=(2,))], WORDS, 8)
    save_words(encoded, tmp_path)
    loaded = load_words(tmp_path)
    assert (np.asarray(loaded.words) == encoded.words).all()
    assert loaded.sentences == [0, 0, 1]
    (tmp_path / "words.npy").write_bytes(b"")
    with pytest.raises(CorruptionError):
        load_words(tmp_path)


def test_pairs_are_encoded_in_order_and_groups_survive_a_round_trip(tmp_path: Path) -> None:
    pairs = [Example("a b", "b a", group="order"), Example("c", "d", group="word")]
    encoded = encode_pairs(pairs, WORDS, 8)
    alone = [encode_pairs([Example(text, text)], WORDS, 8).tokens[0] for text in ("a b", "b a", "c", "d")]
    assert (encoded.tokens == np.stack(alone)).all()
    save_groups(pairs, tmp_path)
    assert load_groups(tmp_path) == ["order", "word"]
    (tmp_path / "groups.json").write_text("{")
    with pytest.raises(CorruptionError):
        load_groups(tmp_path)


SCORES = st.lists(st.tuples(st.floats(-99, 0), st.floats(-99, 0)), min_size=1)


@given(SCORES)
def test_the_accuracy_of_exchanged_scores_is_the_complement(scores: list[tuple[float, float]]) -> None:
    exchanged = [(bad, good) for good, bad in scores]
    assert pair_accuracy(scores) + pair_accuracy(exchanged) == pytest.approx(1.0)
    assert pair_accuracy([(good, good) for good, _ in scores]) == 0.5
    assert accuracy_by_group(scores, ["one"] * len(scores)) == {"one": pair_accuracy(scores)}
    assert accuracy_by_group(scores, [""] * len(scores)) == {}


def test_the_most_frequent_tag_of_a_word_is_that_of_train() -> None:
    noun, verb = POS.labels.index("NOUN"), POS.labels.index("VERB")
    train = (Example("run run run walk", tags=(noun, verb, verb, noun)), Example("walk sea", tags=(noun, noun)))
    dev = (Example("run sea new", tags=(verb, noun, verb)),)
    assert most_frequent_tag_scores(POS, Examples(train, dev))["accuracy"] == pytest.approx(200 / 3)

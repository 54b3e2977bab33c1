"""Every tokenizer: round trips, sizes, offsets, words, and training that gives the same bytes everywhere."""

import os
import string
import subprocess
import sys
from typing import get_args

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from steeplechase.foundation.canonical import canonical, fingerprint
from steeplechase.foundation.errors import DataError
from steeplechase.tasks.tokenizer import (
    KINDS,
    BpeOption,
    ByteBpeOption,
    CharacterOption,
    GivenVocabulary,
    SentencePieceOption,
    TokenizerDeclaration,
    UnigramOption,
    WordOption,
    WordPieceTraining,
    train_tokenizer,
)
from steeplechase.tasks.tokenizer.word_boundaries import WordBoundaries
from tests.factories.paths import ROOT
from tests.factories.tokenizers import DECLARED, EVERY_KIND, SPECIAL_WORDS, TEXTS, trained, unknown_in

LETTERS = st.text(string.ascii_letters + string.digits + " .,;:!?'()[]<>/-_\n\t", max_size=60)
SPECIAL = st.lists(st.sampled_from([*SPECIAL_WORDS, *TEXTS[0].split()]), max_size=6)
every_kind = pytest.mark.parametrize("kind", EVERY_KIND)


def test_every_kind_and_every_declaration_is_tested() -> None:
    assert set(EVERY_KIND) == set(KINDS) == {each.kind for each in KINDS.values()}
    declarations = set(get_args(get_args(TokenizerDeclaration)[0])) - {GivenVocabulary, SentencePieceOption}
    assert declarations == {type(declaration) for declaration, _ in DECLARED.values()}


@every_kind
def test_the_vocabulary_has_the_declared_size_and_special_tokens(kind: str) -> None:
    words = trained(kind)
    assert (
        words.vocabulary_size
        == len(words.pieces)
        == len(set(words.pieces))
        == DECLARED.get(kind, DECLARED["unigram"])[1]
    )
    specials = [words.pad, words.unknown, words.classify, words.separate, words.mask]
    assert specials == [0, 1, 2, 3, 4]
    assert words.special_pieces == words.pieces[:5]


@every_kind
@given(text=st.text(max_size=80) | LETTERS | SPECIAL.map("".join) | SPECIAL.map(" ".join))
@example(text="a\0b \ufffd \u2581 \0[MASK] \0")
def test_tokens_are_in_the_vocabulary_and_never_special(kind: str, text: str) -> None:
    words = trained(kind)
    (tokens,) = words.encode([text])
    assert all(0 <= token < words.vocabulary_size for token in tokens)
    assert not {words.pad, words.classify, words.separate, words.mask} & set(tokens)


@given(st.text(max_size=200))
def test_bytes_decode_to_the_very_text(text: str) -> None:
    words = trained("byte_bpe")
    text = text.encode("utf-8", "replace").decode()
    (tokens,) = words.encode([text])
    assert words.decode(tokens) == text
    assert words.unknown not in tokens


@every_kind
@given(text=LETTERS)
def test_a_decoded_text_has_the_same_tokens(kind: str, text: str) -> None:
    """Decoding is the inverse up to normalisation, for texts without unknown tokens."""
    words = trained(kind)
    (tokens,) = words.encode([text])
    if words.unknown not in tokens:
        assert words.encode([words.decode(tokens)])[0] == tokens


@pytest.mark.parametrize("kind", ["character", "unigram"])
@given(text=st.text(string.ascii_lowercase + " .,", max_size=60))
def test_a_normalised_text_is_decoded_to_itself(kind: str, text: str) -> None:
    words = trained(kind)
    text = " ".join(text.split())
    if not unknown_in(words, text):
        assert words.decode(words.encode([text])[0]) == text


@every_kind
@given(text=st.text(max_size=60) | LETTERS)
def test_offsets_are_spans_of_the_text_in_order(kind: str, text: str) -> None:
    words = trained(kind)
    (encoded,) = words.encode_with_offsets([text])
    assert encoded.tokens == words.encode([text])[0]
    assert len(encoded.offsets) == len(encoded.tokens)
    assert all(0 <= start <= end <= len(text) for start, end in encoded.offsets)
    assert [start for start, _ in encoded.offsets] == sorted(start for start, _ in encoded.offsets)


@every_kind
@given(text=LETTERS)
def test_offsets_slice_the_text_to_the_piece(kind: str, text: str) -> None:
    words = trained(kind)
    (encoded,) = words.encode_with_offsets([text])
    for token, (start, end) in zip(encoded.tokens, encoded.offsets, strict=True):
        if token != words.unknown:
            piece = words.pieces[token].removeprefix("##").removesuffix("</w>").lstrip("▁Ġ").rstrip("Ġ")
            written = text[start:end].lower() if words.lowercase else text[start:end]
            if kind == "byte_bpe":
                piece = piece.strip("ĊĉĠ")
            assert written.strip() == piece


@every_kind
def test_words_start_where_the_text_says(kind: str) -> None:
    words, text = trained(kind), "the unbelievable fox of the text unlikely"
    (tokens,) = words.encode([text])
    if words.unknown in tokens:
        pytest.skip(f"{kind} does not know a word of the text")
    sequence = np.array([[words.classify, *tokens, words.separate, words.pad]])
    starts = WordBoundaries(words).starts(sequence)[0]
    assert starts[[0, 1, -2, -1]].all()
    assert int(starts[1:-2].sum()) == len(text.split())
    parts = np.split(np.array(tokens), np.flatnonzero(starts[1:-2])[1:])
    assert [words.decode(part.tolist()).strip() for part in parts] == text.split()


@pytest.mark.parametrize("kind", ["byte_bpe", "unigram", "character"])
def test_a_special_token_in_a_sequence_is_a_word_of_its_own(kind: str) -> None:
    words = trained(kind)
    tokens = np.array(words.encode(["the fox of the text"])[0])
    masked = tokens.copy()
    masked[1] = words.mask
    assert WordBoundaries(words).starts(masked)[[0, 1, 2]].all()


def test_a_line_break_ends_a_word_of_bytes() -> None:
    words = trained("byte_bpe")
    tokens = np.array(words.encode(["the\nfox"])[0])
    starts = WordBoundaries(words).starts(tokens)
    lines = [words.decode([token]) for token in tokens]
    assert starts[lines.index("\n")]
    assert starts[lines.index("\n") + 1]


@pytest.mark.parametrize("kind", [kind for kind in DECLARED if kind != "wordpiece"])
def test_a_size_that_the_corpus_cannot_give_is_refused_with_the_one_it_can(kind: str) -> None:
    declaration = DECLARED[kind][0]
    with pytest.raises(DataError, match="Write vocabulary_size: ") as refusal:
        train_tokenizer(declaration, TEXTS, 20_000)  # type: ignore[arg-type]
    reachable = int(str(refusal.value).split("Write vocabulary_size: ")[1].split(",")[0])
    assert train_tokenizer(declaration, TEXTS, reachable).vocabulary_size == reachable  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [kind for kind in DECLARED if kind != "byte_bpe"])
def test_training_on_no_text_is_refused(kind: str) -> None:
    with pytest.raises(DataError, match="train split is empty"):
        train_tokenizer(DECLARED[kind][0], ["", ""], 100)  # type: ignore[arg-type]


def test_bytes_and_special_tokens_need_their_pieces() -> None:
    with pytest.raises(DataError, match="261 pieces"):
        train_tokenizer(ByteBpeOption(), TEXTS, 260)


def test_fresh_processes_with_and_without_threads_learn_the_same_files() -> None:
    """The library numbers pieces in the order of a randomly seeded hash table, and adds fractions in parallel."""
    program = (
        "from tests.factories.tokenizers import DECLARED, trained\n"
        "print(*(words.fingerprint for words in map(trained, DECLARED)))"
    )
    runs = [("false", "0"), ("true", "1"), ("true", "2")]
    prints = {
        subprocess.run(
            [sys.executable, "-c", program],
            cwd=ROOT,
            env={**os.environ, "TOKENIZERS_PARALLELISM": threads, "RAYON_NUM_THREADS": "2", "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for threads, seed in runs
    }
    assert prints == {" ".join(words.fingerprint for words in map(trained, DECLARED))}


def test_no_two_tokenizers_share_a_key() -> None:
    texts = [fingerprint(declaration.inputs()) for declaration, _ in DECLARED.values()]
    texts += [
        fingerprint(option(lowercase=False).inputs())
        for option in (WordPieceTraining, BpeOption, UnigramOption, WordOption, CharacterOption)
    ]
    assert len(set(texts)) == len(texts)
    assert canonical(WordPieceTraining()) == {"kind": "wordpiece"}

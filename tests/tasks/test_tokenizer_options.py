"""Every tokenizer: round trips, sizes, files, offsets, words, and training that gives the same bytes everywhere."""

import lzma
import os
import string
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from foundation.errors import CorruptionError, DataError
from foundation.schema import canonical, fingerprint
from tasks.tokenizer import (
    KINDS,
    BpeOption,
    ByteBpe,
    ByteBpeOption,
    CharacterOption,
    GivenVocabulary,
    Tokenizer,
    TokenizerDeclaration,
    UnigramOption,
    WordOption,
    WordPieceTraining,
    load_tokenizer,
    train_tokenizer,
)
from tasks.tokenizer.tokenizer import TokenizerOption
from tasks.tokenizer.word_boundaries import WordBoundaries
from tests.factories.paths import ROOT
from tests.factories.published_data import published

DECLARED: dict[str, tuple[TokenizerOption, int]] = {
    "wordpiece": (WordPieceTraining(), 300),
    "bpe": (BpeOption(), 300),
    "byte_bpe": (ByteBpeOption(), 400),
    "unigram": (UnigramOption(), 300),
    "word": (WordOption(), 400),
    "character": (CharacterOption(), 40),
}
SPECIAL_WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "<mask>", "</s>"]
SYLLABLES = ("ba", "lo", "mi", "ter", "un", "ness", "con")
TEXTS = [
    "The quick brown fox jumps over the lazy dog, and the dogs' owner (a fox) laughs: 12,345 times!",
    "Unbelievable; unlikely; unhappily: prefixes, suffixes and words within words.\nA new line\tand a tab.",
    "Return the mean of the values; see `axis=-1`. Raises ValueError if the values have no mean.",
    "naïve café, élan — “quotes” …",
    *[" ".join(f"{one}{two}{three}" for one in SYLLABLES for two in SYLLABLES) for three in SYLLABLES],
    *[f"A text with {word} inside {word}{word} of it." for word in SPECIAL_WORDS],
] * 6
LETTERS = st.text(string.ascii_letters + string.digits + " .,;:!?'()[]<>/-_\n\t", max_size=60)


def trained(kind: str) -> Tokenizer:
    declaration, size = DECLARED[kind]
    return train_tokenizer(declaration, TEXTS, size)  # type: ignore[arg-type]


TRAINED = {kind: trained(kind) for kind in DECLARED}
every_kind = pytest.mark.parametrize("kind", DECLARED)


def unknown_in(words: Tokenizer, text: str) -> bool:
    return words.unknown in words.encode([text])[0]


def test_every_kind_and_every_declaration_is_tested() -> None:
    assert set(DECLARED) == set(KINDS) == {each.kind for each in KINDS.values()}
    declarations = set(get_args(get_args(TokenizerDeclaration)[0])) - {GivenVocabulary}
    assert declarations == {type(declaration) for declaration, _ in DECLARED.values()}


@every_kind
def test_the_vocabulary_has_the_declared_size_and_special_tokens(kind: str) -> None:
    words = TRAINED[kind]
    assert words.vocabulary_size == len(words.pieces) == len(set(words.pieces)) == DECLARED[kind][1]
    specials = [words.pad, words.unknown, words.classify, words.separate, words.mask]
    assert specials == [0, 1, 2, 3, 4]
    assert words.special_pieces == words.pieces[:5]


@every_kind
@given(text=st.text(max_size=80) | LETTERS)
@example(text="a\0b \ufffd \u2581 \0[MASK] \0")
def test_tokens_are_in_the_vocabulary_and_never_special(kind: str, text: str) -> None:
    words = TRAINED[kind]
    (tokens,) = words.encode([text])
    assert all(0 <= token < words.vocabulary_size for token in tokens)
    assert not {words.pad, words.classify, words.separate, words.mask} & set(tokens)


@every_kind
@given(st.lists(st.sampled_from([*SPECIAL_WORDS, *TEXTS[0].split()]), max_size=6), st.sampled_from(["", " "]))
def test_special_pieces_in_a_text_are_text(kind: str, parts: list[str], between: str) -> None:
    words = TRAINED[kind]
    (tokens,) = words.encode([between.join(parts)])
    assert not {words.pad, words.classify, words.separate, words.mask} & set(tokens)


@given(st.text(max_size=200))
def test_bytes_decode_to_the_very_text(text: str) -> None:
    words = TRAINED["byte_bpe"]
    text = text.encode("utf-8", "replace").decode()
    (tokens,) = words.encode([text])
    assert words.decode(tokens) == text
    assert words.unknown not in tokens


@every_kind
@given(text=LETTERS)
def test_a_decoded_text_has_the_same_tokens(kind: str, text: str) -> None:
    """Decoding is the inverse up to normalisation, for texts without unknown tokens."""
    words = TRAINED[kind]
    (tokens,) = words.encode([text])
    if words.unknown not in tokens:
        assert words.encode([words.decode(tokens)])[0] == tokens


@pytest.mark.parametrize("kind", ["character", "unigram"])
@given(text=st.text(string.ascii_lowercase + " .,", max_size=60))
def test_a_normalised_text_is_decoded_to_itself(kind: str, text: str) -> None:
    words = TRAINED[kind]
    text = " ".join(text.split())
    if not unknown_in(words, text):
        assert words.decode(words.encode([text])[0]) == text


@every_kind
@given(text=st.text(max_size=60) | LETTERS)
def test_offsets_are_spans_of_the_text_in_order(kind: str, text: str) -> None:
    words = TRAINED[kind]
    (encoded,) = words.encode_with_offsets([text])
    assert encoded.tokens == words.encode([text])[0]
    assert len(encoded.offsets) == len(encoded.tokens)
    assert all(0 <= start <= end <= len(text) for start, end in encoded.offsets)
    assert [start for start, _ in encoded.offsets] == sorted(start for start, _ in encoded.offsets)


@every_kind
@given(text=LETTERS)
def test_offsets_slice_the_text_to_the_piece(kind: str, text: str) -> None:
    words = TRAINED[kind]
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
    words, text = TRAINED[kind], "the unbelievable fox of the text unlikely"
    (tokens,) = words.encode([text])
    if words.unknown in tokens:
        pytest.skip(f"{kind} does not know a word of the text")
    sequence = np.array([[words.classify, *tokens, words.separate, words.pad]])
    starts = WordBoundaries(words).starts(sequence)[0]
    assert starts[[0, 1, -2, -1]].all()
    assert int(starts[1:-2].sum()) == len(text.split())
    parts = np.split(np.array(tokens), np.flatnonzero(starts[1:-2])[1:])
    assert [words.decode(part.tolist()).strip() for part in parts] == text.split()


def test_only_pieces_of_word_piece_say_themselves_whether_they_start_a_word() -> None:
    words = TRAINED["wordpiece"]
    boundaries = WordBoundaries(words)
    assert boundaries.starts_word.tolist() == [not piece.startswith("##") for piece in words.pieces]
    assert boundaries.ends_word.tolist() == [token < 5 for token in range(words.vocabulary_size)]


@pytest.mark.parametrize("kind", ["byte_bpe", "unigram", "character"])
def test_a_special_token_in_a_sequence_is_a_word_of_its_own(kind: str) -> None:
    words = TRAINED[kind]
    tokens = np.array(words.encode(["the fox of the text"])[0])
    masked = tokens.copy()
    masked[1] = words.mask
    assert WordBoundaries(words).starts(masked)[[0, 1, 2]].all()


def test_a_line_break_ends_a_word_of_bytes() -> None:
    words = TRAINED["byte_bpe"]
    tokens = np.array(words.encode(["the\nfox"])[0])
    starts = WordBoundaries(words).starts(tokens)
    lines = [words.decode([token]) for token in tokens]
    assert starts[lines.index("\n")]
    assert starts[lines.index("\n") + 1]


@every_kind
def test_a_saved_tokenizer_loads_equal(kind: str, tmp_path: Path) -> None:
    words = TRAINED[kind]
    words.save(tmp_path)
    loaded = load_tokenizer(tmp_path)
    assert type(loaded) is type(words)
    assert (loaded.pieces, loaded.fingerprint) == (words.pieces, words.fingerprint)
    assert loaded.encode(TEXTS) == words.encode(TEXTS)


@every_kind
def test_a_modified_file_is_reported(kind: str, tmp_path: Path) -> None:
    TRAINED[kind].save(tmp_path)
    changed = tmp_path / TRAINED[kind].file_names[-1]
    changed.write_text(changed.read_text(encoding="utf-8") + "more\n", encoding="utf-8")
    with pytest.raises(CorruptionError, match="sha256"):
        load_tokenizer(tmp_path)


@pytest.mark.parametrize("kind", [kind for kind in DECLARED if kind != "wordpiece"])
def test_a_given_vocabulary_encodes_as_the_trained_one(kind: str, tmp_path: Path) -> None:
    words, (declaration, size) = TRAINED[kind], DECLARED[kind]
    words.save(tmp_path)
    path = tmp_path if len(words.file_names) > 1 else tmp_path / words.file_names[0]
    given_files = declaration.model_copy(update={"path": str(path)})
    again = train_tokenizer(given_files, [], size)  # type: ignore[arg-type]
    assert again.encode(TEXTS) == words.encode(TEXTS)
    assert fingerprint(given_files.inputs()) != fingerprint(declaration.inputs())
    with pytest.raises(DataError, match=f"{size} pieces, but the architecture has a vocabulary_size of {size - 1}"):
        train_tokenizer(given_files, [], size - 1)  # type: ignore[arg-type]
    (path if path.is_file() else path / words.file_names[0]).unlink()
    with pytest.raises(DataError, match="No such file"):
        given_files.inputs()


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
        "from tests.tasks.test_tokenizer_options import TRAINED\n"
        "print(*(words.fingerprint for words in TRAINED.values()))"
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
    assert prints == {" ".join(words.fingerprint for words in TRAINED.values())}


def test_no_two_tokenizers_share_a_key() -> None:
    texts = [fingerprint(declaration.inputs()) for declaration, _ in DECLARED.values()]
    texts += [
        fingerprint(option(lowercase=False).inputs())
        for option in (WordPieceTraining, BpeOption, UnigramOption, WordOption, CharacterOption)
    ]
    assert len(set(texts)) == len(texts)
    assert canonical(WordPieceTraining()) == {"kind": "wordpiece"}


def test_special_tokens_are_found_under_their_other_names(tmp_path: Path) -> None:
    roberta, xlnet = tmp_path / "roberta", tmp_path / "xlnet"
    roberta.write_text("<s>\n<pad>\n</s>\n<unk>\nthe\n<mask>\n")
    xlnet.write_text("<unk>\n<s>\n</s>\n<cls>\n<sep>\n<pad>\n<mask>\nthe\n")
    for path, numbers in ((roberta, (1, 3, 0, 2, 5)), (xlnet, (5, 0, 3, 4, 6))):
        words = train_tokenizer(WordOption(path=str(path)), [], 10)
        assert (words.pad, words.unknown, words.classify, words.separate, words.mask) == numbers
        assert words.encode(["The fox"]) == [[words.pieces.index("the"), words.unknown]]


SAMPLE = [line for line in TEXTS if "[" not in line and "<" not in line]


def published_lines() -> Sequence[str]:
    text = lzma.decompress(published("text/wikipedia_en_2015/AA/wiki_00.xz").read_bytes()).decode("utf-8")
    return [line.strip() for line in text.splitlines()[:600] if line.strip()]


def test_bytes_are_encoded_as_robertas(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers", reason="the oracle is transformers")
    lines = published_lines()
    words = train_tokenizer(ByteBpeOption(), lines[:200], 1000)
    words.save(tmp_path)
    vocabulary, merges = (str(tmp_path / name) for name in ByteBpe.file_names)
    names = dict(zip(("pad", "unk", "cls", "sep", "mask"), words.special_pieces, strict=True))
    theirs = transformers.RobertaTokenizerFast(vocabulary, merges, **{f"{key}_token": n for key, n in names.items()})
    assert words.encode(lines) == theirs(lines, add_special_tokens=False)["input_ids"]
    slow = transformers.GPT2Tokenizer(vocabulary, merges, unk_token="[UNK]")
    assert words.encode(lines) == slow(lines, add_special_tokens=False)["input_ids"]


def test_merges_are_those_of_gpt(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers", reason="the oracle is transformers")
    lines = published_lines()
    words = train_tokenizer(BpeOption(), lines[:200], 1000)
    words.save(tmp_path)
    vocabulary, merges = (str(tmp_path / name) for name in ByteBpe.file_names)
    theirs = transformers.OpenAIGPTTokenizer(vocabulary, merges, unk_token="[UNK]")
    plain = [line for line in lines if not unknown_in(words, line)]
    assert len(plain) > 100
    assert words.encode(plain) == theirs(plain, add_special_tokens=False)["input_ids"]


def test_pieces_are_those_of_the_most_probable_segmentation() -> None:
    """An oracle by its definition: the maximum over all segmentations of every word, by exhaustive search."""
    words = TRAINED["unigram"]
    scores = dict(zip(words.pieces, words.scores, strict=True))  # type: ignore[attr-defined]

    def best(word: str) -> float:
        heads = [(scores[word[:end]], word[end:]) for end in range(1, len(word) + 1) if word[:end] in scores]
        return max((score + best(rest) for score, rest in heads), default=-np.inf) if word else 0.0

    for word in {word for text in SAMPLE for word in text.lower().split() if word.isascii()}:
        (tokens,) = words.encode([word])
        if words.unknown not in tokens:
            ours = sum(scores[words.pieces[token]] for token in tokens)
            assert ours == pytest.approx(best(f"▁{word}"), abs=1e-9)


WRONG_FILES = [
    (BpeOption, {"vocab.json": "[1]", "merges.txt": ""}, ["vocab.json: a mapping of pieces"]),
    (BpeOption, {"vocab.json": "{", "merges.txt": ""}, ["vocab.json: is not JSON"]),
    (BpeOption, {"vocab.json": '{"a": 0, "b": true}', "merges.txt": ""}, ["each from 0 to the last once"]),
    (BpeOption, {"vocab.json": '{"a": 0, "b": {"c": 1}}', "merges.txt": ""}, ["each from 0 to the last once"]),
    (BpeOption, {"vocab.json": '{"a": 0, "b": 0}', "merges.txt": ""}, ["each from 0 to the last once"]),
    (BpeOption, {"vocab.json": '{"a": 0, "a": 1}', "merges.txt": ""}, ["each from 0 to the last once"]),
    (
        ByteBpeOption,
        {"vocab.json": '{"a": 0, "b": 1, "ab": 2, "<s>": 3}', "merges.txt": "#version: 0.2\na b\na\na b\nb a\n"},
        [
            "merges.txt:3: 'a' is not a merge",
            "merges.txt:4: duplicate merge 'a b', first on line 2",
            "merges.txt:5: 'ba' is not in vocab.json",
            "vocab.json: no [PAD] (or <pad>), [UNK] (or <unk>), [SEP] (or <sep>, </s>), [MASK] (or <mask>)",
        ],
    ),
    (
        UnigramOption,
        {"unigram.vocab": "<pad>\t0\nthe\nthe\t-1\na\tnan\n"},
        [
            "unigram.vocab:2: 'the' is not a piece",
            "unigram.vocab:4",
            "unigram.vocab:3: duplicate piece 'the'",
            "no [",
        ],
    ),
    (WordOption, {"vocab.txt": "the\n\n"}, ["vocab.txt:2: '' is empty", "no [PAD]"]),
]


@pytest.mark.parametrize(("option", "files", "lines"), WRONG_FILES)
def test_every_mistake_of_given_files_is_reported(
    option: type[BpeOption], files: dict[str, str], lines: list[str], tmp_path: Path
) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    path = tmp_path if len(files) > 1 else tmp_path / next(iter(files))
    with pytest.raises(DataError) as refusal:
        option(path=str(path)).inputs()
    for line in lines:
        assert line in str(refusal.value)
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted(files)


@settings(max_examples=20)
@given(st.lists(st.text("abc ", max_size=12), min_size=1, max_size=5))
def test_small_corpora_give_a_vocabulary_or_a_reason(texts: list[str]) -> None:
    for declaration, _ in DECLARED.values():
        try:
            words = train_tokenizer(declaration, texts, 30)  # type: ignore[arg-type]
        except DataError:
            continue
        assert words.vocabulary_size <= 30


def test_pieces_are_those_of_albert() -> None:
    transformers = pytest.importorskip("transformers", reason="the oracle is transformers")
    words = TRAINED["unigram"]
    vocabulary = list(zip(words.pieces, words.scores, strict=True))  # type: ignore[attr-defined]
    theirs = transformers.AlbertTokenizer(vocabulary, unk_token="[UNK]", pad_token="[PAD]")
    plain = [line for line in (*TEXTS[:4], *published_lines()) if line.isascii() and "<" not in line]
    plain = [line for line in plain if not unknown_in(words, line)]
    assert len(plain) > 20
    assert words.encode(plain) == theirs(plain, add_special_tokens=False)["input_ids"]

"""Every tokenizer trained on a few sentences with the words that tokenizers fall over."""

from functools import cache

from steeplechase.tasks.tokenizer import (
    BpeOption,
    ByteBpeOption,
    CharacterOption,
    SentencePiece,
    Tokenizer,
    Unigram,
    UnigramOption,
    WordOption,
    WordPieceTraining,
    train_tokenizer,
)
from steeplechase.tasks.tokenizer.sentencepiece import Normalisation
from steeplechase.tasks.tokenizer.tokenizer import TokenizerOption

DECLARED: dict[str, tuple[TokenizerOption, int]] = {
    "wordpiece": (WordPieceTraining(), 300),
    "bpe": (BpeOption(), 300),
    "byte_bpe": (ByteBpeOption(), 400),
    "unigram": (UnigramOption(), 300),
    "word": (WordOption(), 400),
    "character": (CharacterOption(), 40),
}
EVERY_KIND = (*DECLARED, "sentencepiece")
"""The kinds that are trained, and the one that is only given."""
STEPS = (
    {"type": "Replace", "pattern": {"String": "``"}, "content": '"'},
    {"type": "NFKD"},
    {"type": "StripAccents"},
    {"type": "Lowercase"},
)
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


@cache
def trained(kind: str) -> Tokenizer:
    """Return the tokenizer of a kind, trained once in a process; of SentencePiece the unigram model with steps."""
    if kind == "sentencepiece":
        words = trained("unigram")
        assert isinstance(words, Unigram)
        return SentencePiece(words.pieces, words.scores, Normalisation(STEPS))
    declaration, size = DECLARED[kind]
    return train_tokenizer(declaration, TEXTS, size)  # type: ignore[arg-type]


def unknown_in(words: Tokenizer, text: str) -> bool:
    """Return whether a text has an unknown token."""
    return words.unknown in words.encode([text])[0]

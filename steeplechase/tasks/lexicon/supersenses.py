"""A lexicon of supersenses: a file of words and the semantic classes that each may have, such as WordNet's.

The two layouts are those of `tasks/lexicon/lexicon_file.py`; the column of a table is `lexname`. Short words and
function words have no supersense (SenseBERT, Levine et al. 2019, arXiv 1908.05646); an inflected word has those of
its base forms, which the suffix rules of WordNet find (wordnet.princeton.edu, morphy(7WN)).
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from steeplechase.foundation.errors import DataError
from steeplechase.foundation.numpy_on_use import Booleans, np
from steeplechase.tasks.data_folder import resolved
from steeplechase.tasks.lexicon.lexicon_file import LexiconFile
from steeplechase.tasks.tokenizer import Tokenizer

FILE = "supersenses.npy"
SHORTEST_WORD = 4
"""Letters of the shortest word with supersenses; shorter ones have none, and stop words neither (SenseBERT)."""
STOP_WORDS = frozenset(Path(__file__).with_name("stop_words.txt").read_text(encoding="utf-8").split())
"""English function words of more than three letters: closed classes, and adverbs of time, place and degree.

The list is this project's; SenseBERT's own was not found.
"""
RULES: dict[str, tuple[tuple[str, str], ...]] = {
    "noun": (
        *(("s", ""), ("ses", "s"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh")),
        *(("men", "man"), ("ies", "y")),
    ),
    "verb": (
        *(("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", "")),
    ),
    "adj": (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
}
"""By part of speech: a suffix, and what replaces it."""
DOUBLED = frozenset({"ed", "ing", "er", "est"})
"""Suffixes before which a final consonant may be doubled: stopped, running, bigger."""


class Lexicon(LexiconFile):
    """A file with the supersenses of words, for architectures with `supersenses` and the objective `supersense`."""

    wanted: ClassVar[str] = (
        "a lexicon is a file of lines `word<TAB>sense,sense`, or the lemmas of WordNet by lexicographer file"
    )
    column, value = "lexname", "sense"
    path: str = Field(min_length=1, examples=["$STEEPLECHASE_DATA/supersense/oewn/lemma_lexnames.tsv.xz"])
    """A file of lines `word<TAB>sense,sense`, or a table with the columns `lemma` and `lexname`; perhaps .gz or .xz.

    `$STEEPLECHASE_DATA` at its beginning is the folder of published data sets, `data` where the variable is unset.
    """

    def read(self) -> "Supersenses":
        """Return the lexicon. Raises DataError with every mistake of the file."""
        path = self.located()
        return _read(path, path.stat().st_mtime_ns)

    def refuse_other_than(self, supersenses: int) -> None:
        """Raise DataError if the lexicon has another number of supersenses than an architecture."""
        names = self.read().names
        if len(names) != supersenses:
            message = f"{len(names)} supersenses; the architecture has supersenses: {supersenses}"
            raise DataError(f"{resolved(self.path)}: {message}")


@dataclass(frozen=True)
class Supersenses:
    """The supersenses by name, and those of every word of the lexicon, in lower case."""

    names: tuple[str, ...]
    """In alphabetical order."""
    of_words: dict[str, frozenset[int]]
    """Indices into `names`."""

    def allowed(self, word: str) -> frozenset[int]:
        """Return the supersenses that a word may have; none for short words, stop words and unknown ones.

        Those of the base forms of an inflected word are among them: nouns', verbs' and adjectives', where senses are
        named by their part of speech, such as `noun.person`.
        """
        word = word.lower()
        if len(word) < SHORTEST_WORD or word in STOP_WORDS:
            return frozenset()
        found = set(self.of_words.get(word, ()))
        for part_of_speech in RULES:
            for form in _base_forms(word, part_of_speech, self.of_words):
                found |= {sense for sense in self.of_words[form] if self._is(sense, part_of_speech)}
        return frozenset(found)

    def _is(self, sense: int, part_of_speech: str) -> bool:
        return self.names[sense].partition(".")[0] == part_of_speech


@lru_cache(maxsize=2)
def _read(path: Path, modified: int) -> Supersenses:
    """Return the lexicon of a file; `modified` is part of the cache's key."""
    senses_of = Lexicon.values_of_words(path)
    names = tuple(sorted({sense for senses in senses_of.values() for sense in senses}))
    index = {name: number for number, name in enumerate(names)}
    return Supersenses(names, {word: frozenset(index[sense] for sense in senses_of[word]) for word in senses_of})


def _base_forms(word: str, part_of_speech: str, known: Collection[str]) -> Iterator[str]:
    """Yield the known words that the word may be an inflection of, each once; the word itself is not among them."""
    found = []
    for suffix, replacement in RULES.get(part_of_speech, ()):
        if not word.endswith(suffix):
            continue
        stem = word.removesuffix(suffix)
        found.append(stem + replacement)
        if suffix in DOUBLED and not replacement and len(stem) > 1 and stem[-1] == stem[-2]:
            found.append(stem[:-1])
    yield from (form for form in dict.fromkeys(found) if form != word and form in known)


def token_senses(supersenses: Supersenses, tokenizer: Tokenizer) -> Booleans:
    """Return which supersenses the word of each token may have [vocabulary senses].

    Tokens that are no words by themselves, such as pieces that continue a word, have none.
    """
    allowed = np.zeros((tokenizer.vocabulary_size, len(supersenses.names)), np.bool_)
    starts, ends = np.array(tokenizer.starts_word), np.array(tokenizer.ends_word)
    for token in np.flatnonzero(starts | ends).tolist():
        if tokenizer.pieces[token] in tokenizer.special_pieces:
            continue
        word = tokenizer.decode([token]).strip()
        if word.isalpha():
            allowed[token, [*supersenses.allowed(word)]] = True
    return allowed


def write_token_senses(allowed: Booleans, folder: Path) -> None:
    """Write the matrix into the folder of the tokens stage."""
    np.save(folder / FILE, allowed, allow_pickle=False)


def read_token_senses(folder: Path) -> Booleans:
    """Return what `write_token_senses` wrote. Raises CorruptionError if it is not such a file."""
    from steeplechase.tasks.tokens import read_array  # numpy, which a declaration does without

    allowed: Booleans = read_array(folder / FILE, ("|b1",), 2)
    return allowed

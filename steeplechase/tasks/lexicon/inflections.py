"""Base forms of inflected English words, by the suffix rules of WordNet. wordnet.princeton.edu, morphy(7WN)."""

from collections.abc import Collection, Iterator

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


def base_forms(word: str, part_of_speech: str, known: Collection[str]) -> Iterator[str]:
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

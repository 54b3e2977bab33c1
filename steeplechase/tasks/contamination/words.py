"""Word normalisation as in GPT-3: lower case, without punctuation. arXiv 2005.14165, appendix C."""

import re
import string

BREAK = "\x00"
"""Inserted after each sentence and each line."""

_SENTENCE_END = re.compile(r"[.!?][\"'”’)\]]*(?=\s)")
_PARAGRAPH_END = re.compile(r"\n\s*\n")
_FURTHER_PUNCTUATION = re.compile(r"[^\x00-\x7f\w\s]+")
_PUNCTUATION = string.punctuation.encode()


def words_of(text: str) -> list[str]:
    """Return the words of a text, with a break after each sentence and each line."""
    text = _SENTENCE_END.sub(f" {BREAK} ", text.lower().replace("\n", f" {BREAK} "))
    plain = _FURTHER_PUNCTUATION.sub("", text).encode("utf-8", "replace")
    return plain.translate(None, delete=_PUNCTUATION).decode().split()


def sentences_of(text: str) -> list[list[str]]:
    """Return the words of each sentence of a dev set's text, in which a single line end is a space."""
    paragraphs = (" ".join(part.split()) for part in _PARAGRAPH_END.split(text.replace(BREAK, " ")))
    sentences: list[list[str]] = [[]]
    for word in words_of("\n".join(paragraphs)):
        if word == BREAK:
            sentences.append([])
        else:
            sentences[-1].append(word)
    return [sentence for sentence in sentences if sentence]

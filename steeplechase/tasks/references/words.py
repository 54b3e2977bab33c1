"""The words of a text in any script, for references that count words.

In scripts without spaces between words a character is a word, as in BERT's tokenizer of Chinese (arXiv 1810.04805);
pairs of neighbours are then counted by bigrams. Combining marks, among them the vowels of Devanagari, belong to the
letter before them (Unicode Standard Annex 29); they are no word characters of Python's regular expressions.
"""

import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from itertools import groupby

UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\uff66-\uff9f\U00020000-\U000323af"
)
"""Thai and Lao, Myanmar, Khmer, kana, Chinese characters: ranges of a character class."""
ANY_CHARACTER = r"\S"
LAST_MARK = 0x1EFFF
"""The last code point with combining marks in a row; behind it are variation selectors alone."""


def pattern_of_words(texts: Iterable[str]) -> str:
    """Return the regular expression of a word; of any character where no text has a word, as where all are emoji."""
    words = re.compile(_words())
    return words.pattern if any(words.search(text) for text in texts) else ANY_CHARACTER


@cache
def _words() -> str:
    marks, letter = _marks(), rf"(?:(?![{UNSPACED}])\w)"
    return f"[{UNSPACED}][{marks}]*|{letter}(?:{letter}|[{marks}])*"


def _marks() -> str:
    """Return the combining marks as ranges of a character class."""
    codes = [code for code in range(LAST_MARK) if unicodedata.category(chr(code)).startswith("M")]
    runs = [[code for _, code in run] for _, run in groupby(enumerate(codes), lambda pair: pair[1] - pair[0])]
    return "".join(f"{chr(run[0])}-{chr(run[-1])}" for run in runs)

"""Sanitised text: names from outside without characters that control a terminal or reorder a line."""

import unicodedata

CONTROL_CATEGORIES = (
    "Cc",
    "Cf",
    "Co",
    "Cs",
    "Zl",
    "Zp",
)  # controls, formats such as bidi marks, private use, line ends


def printable(text: str) -> str:
    """Return the text on one line: line ends and tabs become spaces, control and format characters are removed."""
    one_line = " ".join(text.split())
    if one_line.isprintable():
        return one_line
    return "".join(character for character in one_line if unicodedata.category(character) not in CONTROL_CATEGORIES)

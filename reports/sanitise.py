"""Text that is safe to show: what others named, without the characters that steer a terminal or reorder a line."""

import unicodedata

STEERING = ("Cc", "Cf", "Co", "Cs", "Zl", "Zp")  # controls, formats such as bidi marks, private use, line ends


def printable(text: str) -> str:
    """Return the text on one line: line ends and tabs become spaces, controls and invisible marks go."""
    one_line = " ".join(text.split())
    return "".join(character for character in one_line if unicodedata.category(character) not in STEERING)

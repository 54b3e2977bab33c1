"""Extracts English prose from docstrings: removes code, doctests and tables, and rejects other text."""

import inspect
import re

MINIMUM_CHARACTERS = 40
MINIMUM_WORDS = 7
MINIMUM_LETTER_SHARE = 0.72  # letters and spaces among all characters; long formulas and dumps fall below
MINIMUM_FUNCTION_WORD_SHARE = 0.08  # English prose has 0.4; parameter lists about 0.2; word lists and dumps 0

_FUNCTION_WORDS = """
a an and are as at be been but by can do does each for from has have if in is it its may must no not of on one only
or other should so such than that the their then there these they this to use used was when where which while will
with you
"""
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split())

_WORD = re.compile(r"[A-Za-z]+")
_TABLE_BORDER = re.compile(r"[-=+|:]{2,}(\s*[+|]\s*|\s+)[-=+|: ]*$|[+|].*[+|]$|={2,}( +={2,})+$")
_LITERAL_BLOCK = re.compile(r"\.\. (code|code-block|sourcecode|plot|testcode|ipython|math|doctest)::")
_EMPTY_EXAMPLES = re.compile(r"\n+ *(Examples?|Usage|References)\s*:*\s*\n?[-=~]*\s*$")
_BLANK_LINES = re.compile(r"\n{3,}")


def clean_docstring(raw: str) -> str:
    """Return the docstring unindented, without doctests, tables and literal blocks; lines are kept apart."""
    lines = inspect.cleandoc(raw).split("\n")
    text = "\n".join(_prose_lines(lines)).strip()
    text = _EMPTY_EXAMPLES.sub("", text)
    return _BLANK_LINES.sub("\n\n", text).strip()


def _prose_lines(lines: list[str]) -> list[str]:
    kept: list[str] = []
    position = 0
    while position < len(lines):
        line = lines[position].rstrip()
        content = line.lstrip()
        if content.startswith((">>>", "```", "~~~")) or _TABLE_BORDER.match(content):
            position = _after_passage(lines, position, content)
        elif content.endswith("::"):
            if not _LITERAL_BLOCK.match(content) and len(content) > 2:
                kept.append(line[:-1])
            position = _after_indented(lines, position)
        else:
            kept.append(line)
            position += 1
    return kept


def _after_passage(lines: list[str], start: int, content: str) -> int:
    """Return the line after a fenced block (its closing fence) or after a doctest or table (a blank line)."""
    fence = content[:3] if content[:3] in ("```", "~~~") else None
    position = start + 1
    while position < len(lines):
        stripped = lines[position].strip()
        if fence is not None and stripped.startswith(fence):
            return position + 1
        if fence is None and not stripped:
            return position
        position += 1
    return position


def _after_indented(lines: list[str], start: int) -> int:
    """Return the first line after the block indented deeper than the line that opens it."""
    depth = _indentation(lines[start])
    position = start + 1
    while position < len(lines) and (not lines[position].strip() or _indentation(lines[position]) > depth):
        position += 1
    return position


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip())


def is_prose(text: str) -> bool:
    """Return whether the text is long enough and mostly English prose."""
    if len(text) < MINIMUM_CHARACTERS:
        return False
    words = _WORD.findall(text.lower())
    if len(words) < MINIMUM_WORDS:
        return False
    letters = sum(map(len, words)) + text.count(" ") + text.count("\n")
    if letters < MINIMUM_LETTER_SHARE * len(text):
        return False
    return sum(word in FUNCTION_WORDS for word in words) >= MINIMUM_FUNCTION_WORD_SHARE * len(words)

"""Text as a CSV cell: text that a spreadsheet would run as a formula is escaped with an apostrophe (CWE-1236)."""

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
ESCAPE = "'"


def escaped(text: str) -> str:
    """Return the text, prefixed by an apostrophe if a spreadsheet would run it or if it begins with one itself."""
    return f"{ESCAPE}{text}" if text.startswith((*FORMULA_STARTS, ESCAPE)) else text


def unescaped(cell: str) -> str:
    """Return the original text of a cell."""
    return cell.removeprefix(ESCAPE)

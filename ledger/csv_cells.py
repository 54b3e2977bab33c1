"""Text as a CSV cell: what a spreadsheet would run as a formula is escaped with an apostrophe (CWE-1236)."""

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
ESCAPE = "'"


def escaped(text: str) -> str:
    """Return the text behind an apostrophe where a spreadsheet would run it, or where it begins with one itself."""
    return f"{ESCAPE}{text}" if text.startswith((*FORMULA_STARTS, ESCAPE)) else text


def unescaped(cell: str) -> str:
    """Return the text that a cell was written from."""
    return cell.removeprefix(ESCAPE)

"""Documents on standard output: UTF-8 whatever the encoding of the terminal, because they are redirected to files."""

import sys
from io import TextIOWrapper


def print_document(text: str) -> None:
    """Print a document such as a report in LaTeX, without a line end of its own."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    sys.stdout.write(text)

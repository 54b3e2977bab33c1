"""LaTeX: booktabs tables for a paper, each split to fit a page. The document must load the package booktabs."""

import re
from collections.abc import Iterator
from itertools import count

from reports.document import Report
from reports.table import Grid, aligned, packed, printable

PAGE_CHARACTERS = 100
NEEDS = "% The tables need the package booktabs."
SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "^": r"\^{}",
    "_": r"\_", "~": r"\textasciitilde{}", "%": r"\%", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedbl{}", "±": r"$\pm$", "−": r"$-$", "Δ": r"$\Delta$", "–": "--",
    "×": r"$\times$", "∞": r"$\infty$", "≤": r"$\leq$", "≥": r"$\geq$", "→": r"$\to$", "─": "--",
    "α": r"$\alpha$", "γ": r"$\gamma$", "η": r"$\eta$", "τ": r"$\tau$",
    "[": "{[}", "]": "{]}", "*": "{*}", "=": "{=}", "`": "{`}", "'": "{'}",
}  # fmt: skip
TRANSLATION = str.maketrans(SPECIAL)


def render(report: Report) -> str:
    """Return the finding and every table; names are escaped, so that they cannot contain commands."""
    return "\n\n".join(_blocks(report)) + "\n"


def _blocks(report: Report) -> Iterator[str]:
    yield NEEDS
    yield rf"\paragraph{{Finding.}} {escape(report.finding)}"
    if report.limits:
        yield rf"\paragraph{{What this cannot say.}} {escape(report.limits)}"
    if report.paper:
        yield rf"\paragraph{{The paper.}} {escape(report.paper)}"
    used: set[str] = set()
    for grid in report.grids:
        for part in packed(grid, PAGE_CHARACTERS):
            yield _table(part, report, used)
        if grid.every_note:
            yield "\n".join(rf"\noindent {escape(note)}\par" for note in grid.every_note)
    yield "\n".join(rf"\noindent \textbf{{{escape(term)}:}} {escape(text)}\par" for term, text in report.footer)


def _table(grid: Grid, report: Report, used: set[str]) -> str:
    """Return a table with a unique caption and label from its title and its column groups."""
    groups = [name for name, _ in grid.groups if name]
    context = ", ".join(filter(None, [report.experiment, f"scale {report.scale}" if report.scale else ""]))
    title = _unique(f"{grid.title}{': ' if groups else ''}{', '.join(groups)}", ", part {}", used)
    label = _unique(_slug(" ".join([report.experiment, report.scale, grid.name, *groups])), "-{}", used)
    head = [rf"\caption{{{escape(f'{title} ({context})')}}}", rf"\label{{tab:{label}}}"]
    return "\n".join([r"\begin{table}[tbp]", r"\centering\small", *head, _tabular(grid), r"\end{table}"])


def _unique(text: str, numbered: str, used: set[str]) -> str:
    """Return the text, numbered from 2 if already used, and add it to the used ones."""
    choices = (text if number == 1 else text + numbered.format(number) for number in count(1))
    free = next(choice for choice in choices if choice not in used)
    used.add(free)
    return free


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _tabular(grid: Grid) -> str:
    lines = aligned(grid, escape, r"\textbf{{{}}}", "{}, {}")
    head, *cells = (rf" {' & '.join(line)} \\" for line in lines)
    alignment = "".join("r" if column.numeric else "l" for column in grid.columns)
    parts = [rf"\begin{{tabular}}{{{alignment}}}", r"\toprule", head, r"\midrule", *cells, r"\bottomrule"]
    return "\n".join([*parts, r"\end{tabular}"])


def escape(text: str) -> str:
    """Return text with all special characters of TeX escaped."""
    return printable(text).translate(TRANSLATION)

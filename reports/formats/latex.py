"""LaTeX: booktabs tables for a paper, each cut into parts that fit a page. The paper loads the package booktabs."""

import re
from collections.abc import Iterator
from itertools import count

from tabulate import tabulate

from reports.document import Report
from reports.grid import Cell, Column, Grid, packed
from reports.sanitise import printable

PAGE_CHARACTERS = 100
SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "^": r"\^{}",
    "_": r"\_", "~": r"\textasciitilde{}", "%": r"\%", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedbl{}", "±": r"$\pm$", "−": r"$-$", "Δ": r"$\Delta$", "–": "--",
    "×": r"$\times$", "[": "{[}", "]": "{]}", "*": "{*}", "=": "{=}", "`": "{`}", "'": "{'}",
}  # fmt: skip
RULES = (r"\toprule", r"\midrule", r"\bottomrule")
TRANSLATION = str.maketrans(SPECIAL)


def render(report: Report) -> str:
    """Return the finding and every table; what a name holds never becomes a command."""
    return "\n\n".join(_blocks(report)) + "\n"


def _blocks(report: Report) -> Iterator[str]:
    yield rf"\paragraph{{Finding.}} {escape(report.finding)}"
    if report.paper:
        yield rf"\paragraph{{The paper.}} {escape(report.paper)}"
    taken: set[str] = set()
    for grid in report.grids:
        for part in packed(grid, PAGE_CHARACTERS):
            yield _table(part, report, taken)
        if grid.every_note:
            yield "\n".join(rf"\noindent {escape(note)}\par" for note in grid.every_note)
    yield "\n".join(rf"\noindent \textbf{{{escape(term)}:}} {escape(text)}\par" for term, text in report.footer)


def _table(grid: Grid, report: Report, taken: set[str]) -> str:
    """Return a table with a caption and a label that no table before it has, by its title and its columns' groups."""
    groups = [name for name, _ in grid.groups if name]
    where = ", ".join(filter(None, [report.experiment, f"scale {report.scale}" if report.scale else ""]))
    title = _first(f"{grid.title}{': ' if groups else ''}{', '.join(groups)}", ", part {}", taken)
    label = _first(_slug(" ".join([report.experiment, report.scale, grid.name, *groups])), "-{}", taken)
    head = [rf"\caption{{{escape(f'{title} ({where})')}}}", rf"\label{{tab:{label}}}"]
    return "\n".join([r"\begin{table}[tbp]", r"\centering\small", *head, _tabular(grid), r"\end{table}"])


def _first(text: str, numbered: str, taken: set[str]) -> str:
    """Return the text, numbered from 2 on where it is taken, and take it."""
    choices = (text if number == 1 else text + numbered.format(number) for number in count(1))
    found = next(choice for choice in choices if choice not in taken)
    taken.add(found)
    return found


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _tabular(grid: Grid) -> str:
    rows = [[_cell(cell) for cell in row] for row in grid.rows]
    headers = [_heading(column) for column in grid.columns]
    alignment = ["right" if column.numeric else "left" for column in grid.columns]
    plain = tabulate(rows, headers, tablefmt="latex_raw", colalign=alignment, disable_numparse=True)
    for rule in RULES:  # the three lines of a table without lines between rows, in booktabs' weights
        plain = plain.replace(r"\hline", rule, 1)
    return plain


def _heading(column: Column) -> str:
    return escape(f"{column.group}, {column.title}" if column.group else column.title)


def _cell(cell: Cell) -> str:
    return rf"\textbf{{{escape(cell.text)}}}" if cell.strong else escape(cell.text)


def escape(text: str) -> str:
    """Return text in which no character means anything to TeX."""
    return printable(text).translate(TRANSLATION)

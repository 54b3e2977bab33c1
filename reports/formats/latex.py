"""LaTeX: booktabs tables for a paper, each cut into parts that fit a page. The paper loads the package booktabs."""

from collections.abc import Iterator

from tabulate import tabulate

from reports.report import Report
from reports.tables.grids import Cell, Column, Grid, packed
from reports.text import printable

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
    for grid in report.grids:
        for part in packed(grid, PAGE_CHARACTERS):
            yield _table(part, report)
    if report.grids:
        yield "\n".join(rf"\noindent {escape(note)}\par" for note in report.notes)
    yield "\n".join(rf"\noindent \textbf{{{escape(term)}:}} {escape(text)}\par" for term, text in report.footer)


def _table(grid: Grid, report: Report) -> str:
    caption = escape(f"{grid.title} ({report.experiment}, scale {report.scale})")
    return "\n".join(
        [r"\begin{table}[tbp]", r"\centering\small", rf"\caption{{{caption}}}", _tabular(grid), r"\end{table}"]
    )


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

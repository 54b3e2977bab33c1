"""GitHub-flavoured Markdown: the finding, pipe tables with notes, and the conditions."""

import re
from collections.abc import Iterable, Iterator, Sequence

from rich.cells import cell_len

from reports.document import Report
from reports.table import Grid, aligned, printable

ESCAPED = re.compile(r"([\\`*_\[\]<>|~#$!&])")
SHOWN_FIGURE = re.compile(r"## [^\n]*\n\n!\[[^\n]*\n\n")


def render(report: Report) -> str:
    """Return the complete report without figures, for use anywhere."""
    return page(report, ())


def page(report: Report, figures: Sequence[tuple[str, str]]) -> str:
    """Return the complete report with figures after its first table: title and path of each image file."""
    return "\n\n".join(_blocks(report, figures)) + "\n"


def without_figures(text: str) -> str:
    """Return a page without its figures, for use outside its folder."""
    return SHOWN_FIGURE.sub("", text)  # safe: all text is escaped, so that no other line begins an image


def _blocks(report: Report, figures: Sequence[tuple[str, str]]) -> Iterator[str]:
    yield f"# {escape(report.title)}"
    if report.question:
        yield escape(report.question)
    if len(report.statements) > 1:
        yield "**Finding.**"
        yield "\n".join(f"- {escape(statement)}" for statement in report.statements)
    else:
        yield f"**Finding.** {escape(report.finding)}"
    if report.limits:
        yield f"> **What this cannot say.** {escape(report.limits)}"
    if report.paper:
        yield f"**The paper.** {escape(report.paper)}"
    for grid in report.grids[:1]:
        yield from _section(grid)
    for title, path in figures:
        yield f"## {escape(title)}"
        yield f"![{escape(title)}]({path})"
    for grid in report.grids[1:]:
        yield from _section(grid)
    yield "## Conditions"
    yield "\n".join(f"- **{escape(term)}:** {escape(text)}" for term, text in report.footer)


def _section(grid: Grid) -> Iterator[str]:
    yield f"## {escape(grid.title)}"
    yield _table(grid)
    if grid.every_note:
        yield "\n".join(f"- {escape(note)}" for note in grid.every_note)


def _table(grid: Grid) -> str:
    head, *cells = aligned(grid, escape, "**{}**", "{}: {}")
    rule = "|".join("-" * (cell_len(heading) + 2) for heading in head)
    first, *others = table_lines([head, *cells])
    return "\n".join([first, f"|{rule}|", *others])


def escape(text: str) -> str:
    """Return text with all special characters of Markdown and HTML escaped."""
    return ESCAPED.sub(r"\\\1", printable(text))


def table_lines(rows: Iterable[Sequence[str]]) -> list[str]:
    """Return rows of escaped cells, the headings and their alignments first, as lines of a table."""
    return [f"| {' | '.join(row)} |" for row in rows]

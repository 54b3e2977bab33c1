"""Terminal: readable at 80 columns and in a pipe; names are never interpreted as markup or control sequences."""

import io
import os
import shutil
import sys
from collections.abc import Iterator
from typing import Literal

from rich.box import SIMPLE_HEAD
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from reports.document import Report
from reports.table import Cell, Grid, packed

NARROWEST, WIDEST = 40, 200
ASCII = str.maketrans(
    {
        "±": "+/-", "−": "-", "–": "-", "×": "x", "─": "-", "∞": "inf", "≤": "<=", "≥": ">=", "→": "->", "…": "...",
        "·": ".", "²": "^2", "Δ": "delta", "α": "alpha", "γ": "gamma", "η": "eta", "τ": "tau", "†": "^", "‡": "^^",
        "§": "(s)",
    }
)  # fmt: skip


def render(report: Report) -> str:
    """Return the report for standard output, with its width, colours and encoding."""
    width = shutil.get_terminal_size((80, 24)).columns
    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
    text = draw(report, min(WIDEST, max(NARROWEST, width)), colour)
    encoding = getattr(sys.stdout, "encoding", None) or "ascii"
    return text if _can_write(text, encoding) else text.translate(ASCII).encode("ascii", "replace").decode()


def draw(report: Report, width: int, colour: bool) -> str:
    """Return the report with this width, with or without colour."""
    buffer = io.StringIO()
    console = Console(
        file=buffer,
        width=width,
        force_terminal=colour,
        color_system="standard" if colour else None,
        markup=False,
        highlight=False,
        emoji=False,
        legacy_windows=False,
        _environ={},
    )
    for block in _blocks(report, width):
        console.print(block)
    if report.more:
        console.print(Text(f"\n{report.more}"), soft_wrap=True)  # its command is one line
    return "\n".join(line.rstrip() for line in buffer.getvalue().splitlines()) + "\n"


def _blocks(report: Report, width: int) -> Iterator[RenderableType]:
    yield Text(report.title, style="bold")
    if report.question:
        yield Text(report.question)
    yield Text("")
    yield _labelled("Finding", report.finding)
    if report.limits:
        yield _labelled("What this cannot say", report.limits)
    if report.paper:
        yield _labelled("The paper", report.paper)
    for grid in report.grids:
        yield Text(f"\n{grid.title}", style="bold")
        for number, part in enumerate(packed(grid, width, folded=width * 2 // 5)):
            yield _table(part) if number == 0 else Padding(_table(part), (1, 0, 0, 0))
        yield from (Padding(Text(note, style="dim"), (0, 0, 0, 2)) for note in grid.every_note)
    if report.footer:
        yield Text("")
    yield from (_labelled(term, text) for term, text in report.footer)


def _labelled(term: str, text: str) -> Text:
    return Text.assemble((f"{term}: ", "bold"), text)


def _table(grid: Grid) -> RichTable:
    table = RichTable(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False)
    grouped = any(column.group for column in grid.columns)
    for position, column in enumerate(grid.columns):
        starts_group = position == 0 or grid.columns[position - 1].group != column.group
        group = (column.group if starts_group else "") + "\n" if grouped else ""
        justify: Literal["left", "right"] = "right" if column.numeric else "left"
        table.add_column(Text(group + column.title), justify=justify, overflow="fold")
    for row in grid.rows:
        table.add_row(*(_text(cell) for cell in row))
    return table


def _text(cell: Cell) -> Text:
    return Text(cell.text, style="bold" if cell.strong else "")


def _can_write(text: str, encoding: str) -> bool:
    try:
        text.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True

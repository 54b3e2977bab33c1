"""Tables: rows as data behind every format, and as text cells that people read.

Formats lay out and escape the cells without changing a number. Names from outside are shown without characters that
control a terminal or reorder a line.
"""

import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, takewhile
from statistics import fmean, stdev
from typing import Any

from rich.cells import cell_len

from steeplechase.analysis.difference import Difference
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.stage_results import finite

Row = Mapping[str, JsonValue]
CONTROL_CATEGORIES = ("Cc", "Cf", "Co", "Cs", "Zl", "Zp")
"""Controls, formats such as bidi marks, private use, line ends."""
GAP = 2  # characters between two columns
BRIEF_ROWS = 60
"""Rows of a table that a brief report shows: a ranking of a search may have thousands."""


@dataclass(frozen=True)
class Table:
    """Named rows that all have the same columns."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]

    @classmethod
    def of(cls, name: str, rows: Iterable[Row]) -> "Table":
        """Return rows as a table with the columns of the first one; without rows it has none."""
        filled = tuple(rows)
        return cls.declared(name, tuple(filled[0]) if filled else (), filled)

    @classmethod
    def declared(cls, name: str, columns: tuple[str, ...], rows: Iterable[Row]) -> "Table":
        """Return rows as a table with these columns, without rows too."""
        filled = tuple(rows)
        assert all(tuple(row) == columns for row in filled), f"{name}: a row differs from {columns}"
        return cls(name, columns, filled)

    @property
    def filled(self) -> "tuple[Table, ...]":
        """The table; nothing without rows."""
        return (self,) if self.rows else ()


def table(name: str, columns: str, rows: Iterable[Row]) -> Table:
    """Return rows as a table with the columns that a text names, without rows too."""
    return Table.declared(name, tuple(columns.split()), rows)


def interval(difference: Difference) -> dict[str, JsonValue]:
    """Return a difference as the columns delta, low and high."""
    return {"delta": difference.delta, "low": difference.low, "high": difference.high}


def compared(difference: Difference, suffix: str = "", prefix: str = "") -> dict[str, JsonValue]:
    """Return a difference as the columns n, delta, low and high."""
    return {f"{prefix}{name}{suffix}": value for name, value in {"n": difference.n, **interval(difference)}.items()}


def spread_columns(values: Sequence[float]) -> dict[str, JsonValue]:
    """Return a sample as the columns n, mean and sd."""
    mean, sd = fmean(values) if values else None, stdev(values) if len(values) > 1 else None
    return {"n": len(values), "mean": mean, "sd": sd}


def number(cell: JsonValue) -> float | None:
    """Return a cell of a table as a finite number; None if it is not one."""
    return finite(cell) if isinstance(cell, int | float) and not isinstance(cell, bool) else None


@dataclass(frozen=True)
class Cell:
    """A text; `strong` marks the best mean of its column if it is statistically significant."""

    text: str
    strong: bool = False
    intervals: int = 0
    """Number of 95% intervals of a difference in it."""


@dataclass(frozen=True)
class Column:
    """A column; adjacent columns with the same group share a heading and are never separated."""

    title: str
    group: str = ""
    numeric: bool = True
    further: bool = False
    """Whether a brief report leaves it out."""
    read: str | Callable[[Any], str | Cell] = ""
    """What it shows of a row: the value of this name, or what a function makes of the row; without it, the value that
    has the title as its name."""

    def cell(self, row: Any) -> str | Cell:
        """Return what the column shows of a row."""
        return str(row[self.read or self.title]) if isinstance(self.read, str) else self.read(row)


def words(title: str, read: str | Callable[[Any], str | Cell] = "", group: str = "", further: bool = False) -> Column:
    """Return a column of text, aligned to the left."""
    return Column(title, group, False, further, read)


@dataclass(frozen=True)
class Grid:
    """A titled table of text. The first column names the row, with further text columns if names repeat."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()
    """Explanations of marks and columns, displayed below the grid."""
    further_notes: tuple[str, ...] = ()
    """Notes that a brief report leaves out."""

    @property
    def every_note(self) -> tuple[str, ...]:
        """All notes in order."""
        return (*self.notes, *self.further_notes)

    @property
    def brief(self) -> "Grid":
        """The grid without its further columns, rows and notes."""
        first = replace(self, rows=self.rows[:BRIEF_ROWS])
        reduced = first.only([position for position, column in enumerate(self.columns) if not column.further])
        cut = (f"The first {BRIEF_ROWS} of {len(self.rows):,} rows.",) if len(self.rows) > BRIEF_ROWS else ()
        return replace(reduced, notes=(*cut, *self.notes))

    @property
    def intervals(self) -> int:
        """Number of 95% intervals of a difference in it."""
        return sum(cell.intervals for row in self.rows for cell in row)

    @property
    def groups(self) -> tuple[tuple[str, int], ...]:
        """Group headings with the number of columns that each spans."""
        spans: list[tuple[str, int]] = []
        for column in self.columns:
            if spans and spans[-1][0] == column.group:
                spans[-1] = (column.group, spans[-1][1] + 1)
            else:
                spans.append((column.group, 1))
        return tuple(spans)

    def only(self, positions: Sequence[int]) -> "Grid":
        """Return the grid with some of its columns."""
        columns = tuple(self.columns[position] for position in positions)
        rows = tuple(tuple(row[position] for position in positions) for row in self.rows)
        return Grid(self.name, self.title, columns, rows)


def grid(name: str, title: str, columns: Iterable[Column], rows: Iterable[Iterable[str | Cell]]) -> Grid:
    """Return a grid of sanitised texts, each on one line."""
    return Grid(
        name,
        printable(title),
        tuple(replace(column, title=printable(column.title), group=printable(column.group)) for column in columns),
        tuple(tuple(_cell(entry) for entry in row) for row in rows),
    )


def shown(
    name: str, title: str, columns: Sequence[Column], rows: Iterable[Any], notes: Iterable[str] = (), *further: str
) -> tuple[Grid, ...]:
    """Return rows as people read them, with notes; none without rows. `further`: notes that a brief report omits."""
    cells = [[column.cell(row) for column in columns] for row in rows]
    return (with_notes(grid(name, title, columns, cells), notes, further),) if cells else ()


def _cell(entry: str | Cell) -> Cell:
    return Cell(printable(entry)) if isinstance(entry, str) else replace(entry, text=printable(entry.text))


def with_notes(source: Grid, notes: Iterable[str], further: Iterable[str] = ()) -> Grid:
    """Return the grid with additional notes; a brief report leaves out those of `further`."""
    return replace(
        source,
        notes=(*source.notes, *map(printable, notes)),
        further_notes=(*source.further_notes, *map(printable, further)),
    )


def aligned(source: Grid, escape: Callable[[str], str], strong: str, grouped: str) -> list[list[str]]:
    """Return headings and cells as escaped lines, padded to the width of their columns, numbers to the right.

    `strong` and `grouped` are the patterns of a strong cell and of a heading behind that of its group.
    """
    headings = [grouped.format(each.group, each.title) if each.group else each.title for each in source.columns]
    lines = [[*map(escape, headings)]]
    for row in source.rows:
        lines.append([strong.format(escape(each.text)) if each.strong else escape(each.text) for each in row])
    for place, column in enumerate(source.columns):
        width = max(cell_len(lines[0][place]) + GAP, *(cell_len(line[place]) for line in lines))
        for line in lines:
            padding = " " * (width - cell_len(line[place]))
            line[place] = padding + line[place] if column.numeric else line[place] + padding
    return lines


def packed(source: Grid, width: int, folded: int | None = None) -> tuple[Grid, ...]:
    """Return the grid split between groups so that each part fits the width; every part repeats the row names.

    `folded` is the width to which a format with line breaks may fold longer texts.
    """
    if not source.columns:
        return ()
    names = _names(source)
    parts: list[list[int]] = [names]
    for group in _groups_beside(source, names):
        first_group = parts[-1] == names
        widths = [_widest(source, position, folded) for position in (*parts[-1], *group)]
        if first_group or sum(widths) + GAP * (len(widths) - 1) <= width:
            parts[-1] = sorted((*parts[-1], *group))
        else:
            parts.append(sorted((*names, *group)))
    return tuple(source.only(part) for part in parts)


def _names(source: Grid) -> list[int]:
    """Return the fewest text columns that name every row uniquely; only the first if none do."""
    texts = list(takewhile(lambda column: not (column.numeric or column.group), source.columns))
    for extra in range(max(1, len(texts))):
        for extra_columns in combinations(range(1, len(texts)), extra):
            row_names = {tuple(row[at].text for at in (0, *extra_columns)) for row in source.rows}
            if len(row_names) == len(source.rows):
                return [0, *extra_columns]
    return [0]


def _groups_beside(source: Grid, names: Sequence[int]) -> list[list[int]]:
    groups: list[list[int]] = []
    for position, column in enumerate(source.columns):
        if position in names:
            continue
        if groups and column.group and source.columns[groups[-1][-1]].group == column.group:
            groups[-1].append(position)
        else:
            groups.append([position])
    return groups


def _widest(source: Grid, position: int, folded: int | None) -> int:
    column = source.columns[position]
    starts_group = position == 0 or source.columns[position - 1].group != column.group
    texts = [column.group if starts_group else "", column.title, *(row[position].text for row in source.rows)]
    widest = max(map(len, texts))
    return widest if folded is None or column.numeric else min(widest, folded)


def printable(text: str) -> str:
    """Return the text on one line: line ends and tabs become spaces, control and format characters are removed."""
    one_line = " ".join(text.split())
    if one_line.isprintable():
        return one_line
    return "".join(character for character in one_line if unicodedata.category(character) not in CONTROL_CATEGORIES)

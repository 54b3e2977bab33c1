"""Grids: tables as people read them, in text cells. A format lays them out and escapes them; it changes no number."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, takewhile

from reports.sanitise import printable

GAP = 2  # characters between two columns


@dataclass(frozen=True)
class Column:
    """A column; columns that share a group belong under one heading and stay together."""

    title: str
    group: str = ""
    numeric: bool = True
    further: bool = False
    """Whether a brief report leaves it out."""


@dataclass(frozen=True)
class Cell:
    """One text; `strong` where it is the best of its column beyond its interval."""

    text: str
    strong: bool = False
    intervals: int = 0
    """How many 95% intervals of a difference it shows."""


@dataclass(frozen=True)
class Grid:
    """A titled table of text. The first column names the row, with the texts after it where it alone does not."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()
    """What its signs and columns mean: shown below it."""
    further_notes: tuple[str, ...] = ()
    """What a brief report leaves out of them."""

    @property
    def every_note(self) -> tuple[str, ...]:
        """All notes, in their order."""
        return (*self.notes, *self.further_notes)

    @property
    def brief(self) -> "Grid":
        """The grid without its further columns and notes."""
        kept = self.only([place for place, column in enumerate(self.columns) if not column.further])
        return replace(kept, notes=self.notes)

    @property
    def intervals(self) -> int:
        """How many 95% intervals of a difference it shows."""
        return sum(cell.intervals for row in self.rows for cell in row)

    @property
    def groups(self) -> tuple[tuple[str, int], ...]:
        """Headings above the columns with how many columns each spans."""
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
    """Return a grid whose every text is safe to show on one line."""
    return Grid(
        name,
        printable(title),
        tuple(replace(column, title=printable(column.title), group=printable(column.group)) for column in columns),
        tuple(tuple(_cell(entry) for entry in row) for row in rows),
    )


def _cell(entry: str | Cell) -> Cell:
    return Cell(printable(entry)) if isinstance(entry, str) else replace(entry, text=printable(entry.text))


def with_notes(found: Grid, notes: Iterable[str], further: Iterable[str] = ()) -> Grid:
    """Return the grid with more notes below it; `further` ones are left out of a brief report."""
    return replace(
        found,
        notes=(*found.notes, *map(printable, notes)),
        further_notes=(*found.further_notes, *map(printable, further)),
    )


def packed(whole: Grid, width: int, folded: int | None = None) -> tuple[Grid, ...]:
    """Return the grid cut between groups so that each part fits the width; every part names its rows.

    `folded` is for a format that breaks lines: the width to which a longer text may be folded.
    """
    if not whole.columns:
        return ()
    names = _names(whole)
    parts: list[list[int]] = [names]
    for group in _groups_beside(whole, names):
        alone = parts[-1] == names
        if alone or _width(whole, [*parts[-1], *group], folded) <= width:
            parts[-1] = sorted((*parts[-1], *group))
        else:
            parts.append(sorted((*names, *group)))
    return tuple(whole.only(part) for part in parts)


def _names(whole: Grid) -> list[int]:
    """Return the fewest leading texts by which no two rows are called the same; the first alone where none do."""
    texts = list(takewhile(lambda column: not (column.numeric or column.group), whole.columns))
    for more in range(max(1, len(texts))):
        for others in combinations(range(1, len(texts)), more):
            called = {tuple(row[at].text for at in (0, *others)) for row in whole.rows}
            if len(called) == len(whole.rows):
                return [0, *others]
    return [0]


def _groups_beside(whole: Grid, names: Sequence[int]) -> list[list[int]]:
    groups: list[list[int]] = []
    for position, column in enumerate(whole.columns):
        if position in names:
            continue
        if groups and column.group and whole.columns[groups[-1][-1]].group == column.group:
            groups[-1].append(position)
        else:
            groups.append([position])
    return groups


def _width(whole: Grid, positions: Sequence[int], folded: int | None) -> int:
    return sum(_widest(whole, position, folded) for position in positions) + GAP * (len(positions) - 1)


def _widest(whole: Grid, position: int, folded: int | None) -> int:
    widest = max(len(text) for text in _texts(whole, position))
    return widest if folded is None or whole.columns[position].numeric else min(widest, folded)


def _texts(whole: Grid, position: int) -> list[str]:
    column = whole.columns[position]
    first = position == 0 or whole.columns[position - 1].group != column.group
    return [column.group if first else "", column.title, *(row[position].text for row in whole.rows)]

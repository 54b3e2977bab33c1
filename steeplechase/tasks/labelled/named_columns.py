"""Lines of cells separated by tabs: a table with a header that names its columns, or its columns alone, in order."""

from collections.abc import Iterable, Iterator

from steeplechase.tasks.labelled.mistakes import Mistakes


def rows_of_columns(
    lines: Iterable[tuple[int, str]], columns: tuple[str, ...], mistakes: Mistakes
) -> Iterator[tuple[int, bool, tuple[str, ...]]]:
    """Yield the number of each line, whether the file is a table, and the cells of the columns.

    A first line that names all columns is the header of a table, which may have others too; without one every line
    has exactly these columns, in this order. A line with another number of columns is a mistake and left out.
    """
    places, width, is_table = tuple(range(len(columns))), len(columns), False
    for number, line in lines:
        cells = line.split("\t")
        if number == 1 and {*columns} <= {*cells}:
            places, width, is_table = tuple(map(cells.index, columns)), len(cells), True
        elif line.strip() and len(cells) != width:
            mistakes.add(number, f"{len(cells)} columns, expected {width} separated by tabs")
        elif line.strip():
            yield number, is_table, tuple(cells[place].strip() for place in places)

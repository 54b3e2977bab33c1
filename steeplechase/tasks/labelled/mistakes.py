"""Collects the mistakes of a file of examples, so that all are reported at once."""

from steeplechase.foundation.errors import LINES_SHOWN, DataError, first_lines


class Mistakes:
    """The mistakes of the file that messages call `name`."""

    def __init__(self, name: str) -> None:
        self.name, self.lines, self.count = name, list[str](), 0

    def add(self, line: int, message: str) -> None:
        """Add a mistake of a line; the first ones alone are kept, whatever the file's length."""
        self.count += 1
        if self.count <= LINES_SHOWN:
            self.lines.append(f"{self.name}:{line}: {message}")

    @property
    def report(self) -> tuple[str, ...]:
        """One line per mistake, and the number of those beyond the first ones."""
        return tuple(
            first_lines(
                self.lines,
                lambda more: f"{self.name}: {more} more mistakes, {self.count} in total",
                count=self.count,
            )
        )

    def refuse(self) -> None:
        """Raise DataError with all mistakes, if there are any."""
        if self.count:
            raise DataError(self.report)

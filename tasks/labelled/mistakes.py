"""Collects the mistakes of a file of examples, so that all are reported at once."""

from foundation.errors import DataError

MISTAKES_SHOWN = 20


class Mistakes:
    """The mistakes of the file that messages call `name`."""

    def __init__(self, name: str) -> None:
        self.name, self.lines, self.count = name, list[str](), 0

    def add(self, line: int, message: str) -> None:
        """Add a mistake of a line; the first twenty are reported in full."""
        self.count += 1
        if self.count <= MISTAKES_SHOWN:
            self.lines.append(f"{self.name}:{line}: {message}")

    @property
    def report(self) -> tuple[str, ...]:
        """One line per mistake, and the number of those beyond the first twenty."""
        if self.count <= MISTAKES_SHOWN:
            return tuple(self.lines)
        return (*self.lines, f"{self.name}: {self.count - MISTAKES_SHOWN} more mistakes, {self.count} in total")

    def refuse(self) -> None:
        """Raise DataError with all mistakes, if there are any."""
        if self.count:
            raise DataError(self.report)

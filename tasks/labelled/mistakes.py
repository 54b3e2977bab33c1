"""Mistakes of a file of examples, collected so that all are reported at once."""

from foundation.errors import DataError

MISTAKES_SHOWN = 20


class Mistakes:
    """Collects the errors of a file, to report all of them at once."""

    def __init__(self, name: str) -> None:
        self.name, self.lines, self.count = name, list[str](), 0

    def add(self, line: int, message: str) -> None:
        """Add an error; the first twenty are reported in full."""
        self.count += 1
        if self.count <= MISTAKES_SHOWN:
            self.lines.append(f"{self.name}:{line}: {message}")

    def refuse(self) -> None:
        """Raise DataError if there are errors."""
        if self.count > MISTAKES_SHOWN:
            self.lines.append(f"{self.name}: {self.count - MISTAKES_SHOWN} more mistakes of {self.count}")
        if self.lines:
            raise DataError(self.lines)

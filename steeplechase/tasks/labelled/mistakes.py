"""Collects the mistakes of a file of examples, so that all are reported at once."""

from collections import Counter

from steeplechase.foundation.errors import LINES_SHOWN, DataError

PLACES_SHOWN = 5
"""Lines of a file that are named for one message."""


class Mistakes:
    """The mistakes of the file that messages call `name`."""

    def __init__(self, name: str) -> None:
        self.name, self.count = name, 0
        self._places: dict[str, list[int]] = {}
        """The first lines of each message; the first messages alone are kept, whatever the file's length."""
        self._counts: Counter[str] = Counter()

    def add(self, line: int, message: str) -> None:
        """Add a mistake of a line."""
        self.count += 1
        if message in self._places or len(self._places) < LINES_SHOWN:
            places = self._places.setdefault(message, [])
            places += [line] if len(places) < PLACES_SHOWN else []
            self._counts[message] += 1

    @property
    def report(self) -> tuple[str, ...]:
        """One line per message, which many rows may have, and the number of mistakes beyond the first messages."""
        lines = [self._line(message) for message in self._places]
        more = self.count - self._counts.total()
        return (*lines, *([f"{self.name}: {more} more mistakes, {self.count} in total"] if more else []))

    def _line(self, message: str) -> str:
        first, *others = self._places[message]
        more = self._counts[message] - 1 - len(others)
        rest = f" and {more} more" if more else ""
        where = f" (also in {'line' if len(others) == 1 else 'lines'} {', '.join(map(str, others))}{rest})"
        return f"{self.name}:{first}: {message}{where if others else ''}"

    def refuse(self, otherwise: str = "") -> None:
        """Raise DataError with all mistakes, if there are any, or with what is wrong with the file `otherwise`."""
        if otherwise and not self.count:
            self.add(1, otherwise)
        if self.count:
            raise DataError(self.report)

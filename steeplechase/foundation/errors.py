"""Errors that are printed as lines, never as a traceback: one class per exit code.

Exit codes: 0 done, 2 command line, 3 configuration, 4 data, 5 environment, 6 conflict, 7 corruption,
8 done with failed trials, 75 stopped and resumable.
"""

import difflib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

from steeplechase.foundation.other_names import OTHER_NAMES, OTHER_VALUES

LINES_SHOWN = 20
"""Mistakes of one kind that are shown in full."""
ALIKE = 0.6  # difflib's ratio, and its own default: a suggestion below it is noise
BEGINNING = 4  # letters with which a word says which name it begins: `bert` is `bert-base`
COMPARED_CHARACTERS = 80  # of a long word; the comparison takes time in the square of them


class ReportedError(Exception):
    """An error that is printed as `lines`, one for each mistake."""

    exit_code: ClassVar[int] = 1
    """What the command line exits with, by the class of the error (docs/commands.md)."""

    def __init__(self, lines: str | Iterable[str]) -> None:
        self.lines: tuple[str, ...] = (lines,) if isinstance(lines, str) else tuple(lines)
        super().__init__("\n".join(self.lines))


class StoppedError(ReportedError):
    """The run was stopped; the same command resumes it."""

    exit_code = 75


class UserError(ReportedError):
    """An error that the user can fix."""

    @staticmethod
    def of_exit_code(code: int | None, lines: Iterable[str]) -> "UserError | None":
        """Return the error that another process has ended with, None if no error has its exit code."""
        return next((kind(lines) for kind in UserError.__subclasses__() if kind.exit_code == code), None)


class ConfigurationError(UserError):
    """An experiment file, a scale or a point of the search space is wrong."""

    exit_code = 3


class DataError(UserError):
    """A corpus, a vocabulary or a fine-tuning set is missing or malformed."""

    exit_code = 4


class MachineError(UserError):
    """The machine, the disk or a service cannot fulfil a request."""

    exit_code = 5


class ConflictError(UserError):
    """Another run holds the lock, or the folder belongs to a different experiment."""

    exit_code = 6


class CorruptionError(UserError):
    """State on disk is damaged; it is never silently recreated."""

    exit_code = 7


MISREAD: tuple[type[Exception], ...] = (
    ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError, EOFError
)  # fmt: skip
"""What a reader raises for a file of another content than it expects."""
SHOWN_OF_DAMAGE = 200


@contextmanager
def damage_refused(place: str, more: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """Turn what a reader raises for a file or its content, and `more`, into a CorruptionError of one line.

    A sound checksum does not prove the content: a stranger may have made both.
    """
    refused: tuple[type[Exception], ...] = (OSError, *MISREAD, *more)
    try:
        yield
    except refused as damage:
        raise CorruptionError(f"{place}: {shown(damage)}") from damage


def shown(damage: Exception) -> str:
    """Return the beginning of an exception in one line, with its class."""
    return repr(damage)[:SHOWN_OF_DAMAGE]


@dataclass(frozen=True)
class Violation:
    """`path` leads from the declaration to the offending value; `message` says rule, values and remedy."""

    path: tuple[str | int, ...]
    message: str

    def under(self, *prefix: str | int) -> "Violation":
        """Return the violation with its path relative to an enclosing declaration."""
        return Violation((*prefix, *self.path), self.message)


def listed_twice(values: Sequence[object], *path: str | int) -> Iterator[Violation]:
    """Yield a violation at every position whose value stands before it in the list at the path too."""
    for position, value in enumerate(values):
        if value in values[:position]:
            yield Violation((*path, position), f"{value!r} is listed twice")


def first_lines(
    lines: Sequence[str], rest: Callable[[int], str], most: int = LINES_SHOWN, count: int | None = None
) -> list[str]:
    """Return the first lines, and where there are more what `rest` says of their number.

    `count` is the number of all lines where `lines` has the first ones alone.
    """
    more = (len(lines) if count is None else count) - most
    return [*lines] if more <= 0 else [*lines[:most], rest(more)]


def closest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that is most similar to another, None where none is similar enough."""
    names, plain = list(known), _plain(word)
    if word in names:
        return word
    same = [name for name in names if plain and _plain(name) == plain]  # SST-2 is sst2
    same = same or [name for name in names_for(word) if name in names]
    same = same or [name for name in names if len(plain) >= BEGINNING and _plain(name).startswith(plain)]
    similar = same or difflib.get_close_matches(word[:COMPARED_CHARACTERS], names, n=1, cutoff=ALIKE)
    return similar[0] if similar else None


def names_for(word: str) -> list[str]:
    """Return the keys and values here that transformers, or the code of a paper, calls by a word."""
    return [name for name, others in (OTHER_NAMES | OTHER_VALUES).items() if word.lower() in others]


def _plain(word: str) -> str:
    """Return the letters and digits of a word in lower case."""
    return "".join(letter for letter in word[:COMPARED_CHARACTERS].lower() if letter.isalnum())


def did_you_mean(word: str, known: Iterable[str], before: str = " ", written: Callable[[str], str] = repr) -> str:
    """Return the end of a message that suggests the closest known word, empty where there is none."""
    close = closest(word, known)
    return "" if close is None else f"{before}Did you mean {written(close)}?"


def not_one_of(name: str, what: str, known: Iterable[str]) -> str:
    """Return the message about an unknown name, with the known names and the most similar one."""
    names = list(known)
    return f"{name!r} is not {what}; allowed: {', '.join(names) or 'none'}{did_you_mean(name, names, '. ', str)}"


def install_extra(extra: str) -> str:
    """Return how an optional extra is installed, beside a wheel and in a checkout."""
    return f"run: pip install 'steeplechase[{extra}]', or in a checkout pip install -e '.[{extra}]'"


def with_escapes(text: str) -> str:
    """Return a text whose characters that a terminal does not show, such as line breaks, are written as escapes."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)

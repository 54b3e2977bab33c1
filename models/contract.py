"""The outcome of a contract: what an option or an architecture promises and its module is measured by."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from foundation.schema import VARIANT_KEY, OpenOption

T = TypeVar("T")


class NotDeclared(Exception):
    """The option does not declare what the contract compares."""


class Broken(Exception):
    """The contract does not hold; the message has both values."""


@dataclass(frozen=True)
class Outcome:
    """What one contract found for one option."""

    option: str
    contract: str
    problem: str = ""
    """Empty if the contract holds or was skipped."""
    skipped: str = ""
    """Why it was skipped."""


def outcomes_of(contracts: Mapping[str, Callable[[T], None]], subject: T, title: str) -> Iterator[Outcome]:
    """Yield the outcome of every contract for a subject."""
    for name, check in contracts.items():
        try:
            check(subject)
        except NotDeclared as reason:
            yield Outcome(title, name, skipped=str(reason))
        except Broken as problem:
            yield Outcome(title, name, problem=str(problem))
        except Exception as error:
            yield Outcome(title, name, problem=f"{type(error).__name__}: {str(error).partition(chr(10))[0]}")
        else:
            yield Outcome(title, name)


def title_of(kind: type[OpenOption], settings: Mapping[str, object]) -> str:
    """Return the name of an option with the settings that it is checked at."""
    name = str(kind.model_fields[VARIANT_KEY].default)
    return ", ".join([name, *(f"{key} {value}" for key, value in settings.items())])

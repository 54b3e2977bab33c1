"""The outcome of a contract: what an option or an architecture promises and its module is measured by."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from pydantic import BaseModel

from steeplechase.foundation.canonical import canonical, canonical_text
from steeplechase.foundation.plugin_code import explained
from steeplechase.foundation.schema import VARIANT_KEY, OpenOption

T = TypeVar("T")
OptionT = TypeVar("OptionT", bound=OpenOption)


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
        except (Exception, SystemExit) as error:
            yield Outcome(title, name, problem=explained(error))
        else:
            yield Outcome(title, name)


def outcomes_at_examples(
    kind: type[OptionT], outcomes: Callable[[OptionT, str], Iterator[Outcome]]
) -> Iterator[Outcome]:
    """Yield the outcomes of an option at each of its examples; an example that is refused is one broken contract."""
    for settings in kind.examples:
        name = str(kind.model_fields[VARIANT_KEY].default)
        title = ", ".join([name, *(f"{key} {value}" for key, value in settings.items())])
        try:
            option = kind.model_validate_json(json.dumps({VARIANT_KEY: name, **settings}))
        except ValueError as error:
            yield Outcome(title, "its examples are settings", problem=str(error).partition("\n")[0])
        else:
            yield from outcomes(option, title)


def survives_json(declaration: BaseModel) -> None:
    """Check a declaration after JSON, in which it reaches workers."""
    copy = type(declaration).model_validate_json(declaration.model_dump_json())
    before, after = (canonical_text(canonical(each)) for each in (declaration, copy))
    if before != after:
        raise Broken(f"declared {before}, after JSON {after}")

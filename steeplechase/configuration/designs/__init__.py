"""Designs: which arms an experiment compares. A list of designs concatenates their arms."""

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Discriminator, Field, Tag

from steeplechase.configuration.designs.components import Coalitions, KeepOne, Ladder, LeaveOneOut, ListDesign
from steeplechase.configuration.designs.factorial import Factorial, OneFactor, Zip
from steeplechase.configuration.designs.search import Search
from steeplechase.foundation.schema import OPTION

OneDesign = Annotated[
    OneFactor | LeaveOneOut | KeepOne | Ladder | Coalitions | Factorial | Zip | ListDesign | Search,
    OPTION,
]


def _tag(value: Any) -> str:
    return "several" if isinstance(value, Sequence) and not isinstance(value, str) else "one"


Design = Annotated[
    Annotated[OneDesign, Tag("one")] | Annotated[tuple[OneDesign, ...], Field(min_length=1), Tag("several")],
    Discriminator(_tag),
]
"""One design, or a list whose arms are concatenated; a candidate of two designs is one arm."""

__all__ = [
    "Coalitions",
    "Design",
    "Factorial",
    "KeepOne",
    "Ladder",
    "LeaveOneOut",
    "ListDesign",
    "OneDesign",
    "OneFactor",
    "Search",
    "Zip",
]

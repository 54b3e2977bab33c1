"""A measurement: its settings, its rules, and the kind of stage of `runners/stages/` that makes it."""

from collections.abc import Callable, Iterator, Mapping
from typing import ClassVar

from search_space.candidate import Candidate
from steeplechase.foundation.errors import Violation
from steeplechase.foundation.schema import JsonValue, Schema


class Measurement(Schema):
    """Settings of what is measured of the arms."""

    key: ClassVar[str]
    """Its name under `measure:`."""
    brief: ClassVar[str]
    """What it measures, for the reference."""
    example: ClassVar[Mapping[str, JsonValue]]
    """Settings with a value for every field that has no default."""
    stage: ClassVar[str]
    """The kind of stage that measures it."""
    of_pretraining: ClassVar[bool] = True
    """Whether it measures what only pretraining gives, such as a head, and not the encoder alone."""
    in_a_search: ClassVar[bool] = False
    """Whether the candidates of a search are measured too."""
    of_trials: ClassVar[bool] = True
    """Whether it measures each trained model; otherwise all arms together, untrained and outside trials."""
    presentation: ClassVar[tuple[str, ...]] = ()
    """Fields that change what a report says, and no result."""

    @classmethod
    def of_former(cls, document: JsonValue) -> JsonValue:
        """Return the record of an experiment that declares it in a former layout as one of today."""
        return document

    @property
    def names(self) -> tuple[str | None, ...]:
        """The names of what is measured, one stage each; (None,) for a measurement that exists once."""
        return (None,)

    @property
    def sources(self) -> tuple[Callable[[], object], ...]:
        """Functions that raise DataError where a file is missing that is read."""
        return ()

    def violations(self, length: int, arms: Mapping[str, Candidate]) -> Iterator[Violation]:
        """Yield the reasons why arms cannot be measured at the baseline's sequence length."""
        yield from ()

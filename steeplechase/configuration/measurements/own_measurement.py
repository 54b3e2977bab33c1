"""`measure.own`: numbers that functions of a user's own give for every trained encoder."""

from collections.abc import Iterator, Mapping
from typing import ClassVar

from pydantic import Field

from search_space.candidate import Candidate
from steeplechase.configuration.measurements.measurement import Measurement
from steeplechase.configuration.plugins import plugin_of
from steeplechase.configuration.stage_result import Real, Result
from steeplechase.foundation.errors import DataError, Violation
from steeplechase.foundation.schema import Count, JsonValue, Name
from steeplechase.tasks.own_measurements import PACKAGE
from steeplechase.tasks.own_metrics import FunctionReference, function_of, module_of


class OwnMeasurement(Measurement):
    """Numbers that functions of your own give for every trained encoder, from held-out text."""

    functions: Mapping[Name, FunctionReference] = Field(min_length=1, examples=[{"rank": "geometry:effective_rank"}])
    """The functions by name: `FILE:FUNCTION` of `tasks/own_measurements/FILE.py` in a plugin."""
    sequences: Count = 64
    """Number of held-out sequences that each gets, of the baseline's length, evenly spaced."""
    key: ClassVar[str] = "own"
    brief: ClassVar[str] = "Numbers that functions of your own give for every trained encoder; null to skip it."
    example: ClassVar[Mapping[str, JsonValue]] = {"functions": {"rank": "geometry:effective_rank"}}
    stage: ClassVar[str] = "own_measurement"
    of_pretraining: ClassVar[bool] = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the functions."""
        return tuple(self.functions)

    def violations(self, length: int, arms: Mapping[str, Candidate]) -> Iterator[Violation]:
        """Yield the arms that cannot read the same sequences, and the functions that no plugin has."""
        for name, candidate in arms.items():
            if candidate.architecture.too_long(length):
                message = f"{name} has {candidate.architecture.longest_sequence} positions; sequences have {length}"
                yield Violation((), message)
        for name, reference in self.functions.items():
            if plugin_of(module_of(reference, PACKAGE)) is None:
                file = reference.partition(":")[0]
                message = f"{reference}: no folder of `plugins` has tasks/own_measurements/{file}.py"
                yield Violation(("functions", name), message)
                continue
            try:
                function_of(reference, PACKAGE)
            except DataError as refusal:
                yield Violation(("functions", name), refusal.lines[0])


class OwnMeasurementResult(Result):
    """The numbers that a function of a user's own gives for a trained encoder."""

    finished: ClassVar[tuple[str, ...]] = ("own_measurement",)
    name: Name
    """The function's name in the experiment."""
    values: Mapping[str, Real]

    @property
    def outcome(self) -> str:
        """The numbers."""
        return ", ".join(f"{name} {value:.4g}" for name, value in self.values.items()) or "no value: NaN"

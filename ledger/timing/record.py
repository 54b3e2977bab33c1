"""What has been timed: raw seconds by length and arm, and the machine they were taken on. Never edited."""

from collections.abc import Mapping

from pydantic import Field, PositiveFloat, model_validator

from configuration.timing.experiment import TimingExperiment
from foundation.schema import Count, Name, Schema


class Machine(Schema):
    """What the seconds depend on besides the experiment; seconds of two machines never stand in one record."""

    processor: str
    system: str
    instructions: str
    """The widest vector instructions that torch uses here."""
    device: str
    threads: Count
    clock: str
    python: str
    torch: str
    operators: str
    """What computes the windows of the convolutions: compiled operators, or torch."""
    code: str
    """sha256 of the source of `models`: what was timed."""


class Measured(Schema):
    """One length, timed whole: for every arm the seconds of one pass in each round, in the order of the rounds."""

    length: Count
    seconds: Mapping[Name, tuple[PositiveFloat, ...]]

    @property
    def rounds(self) -> int:
        """Rounds that count."""
        return min(map(len, self.seconds.values()))


class TimingRecord(Schema):
    """A timing experiment as far as it has come."""

    experiment: TimingExperiment
    scale: str
    machine: Machine
    measured: tuple[Measured, ...] = Field(default=())
    """In the order in which the lengths were timed."""

    @model_validator(mode="after")
    def _whole(self) -> "TimingRecord":
        """Refuse a length that is not the experiment's, stands twice, or lacks an arm or a round."""
        lengths = [each.length for each in self.measured]
        if len(set(lengths)) < len(lengths) or set(lengths) - set(self.experiment.timing.lengths):
            raise ValueError(f"lengths {lengths} are not those of the experiment")
        for each in self.measured:
            rounds = {len(seconds) for seconds in each.seconds.values()}
            if set(each.seconds) != set(self.experiment.arms) or rounds != {self.experiment.timing.rounds}:
                raise ValueError(f"length {each.length} lacks an arm or a round")
        return self

    @property
    def missing(self) -> tuple[int, ...]:
        """Lengths that have not been timed, in the experiment's order."""
        known = {each.length for each in self.measured}
        return tuple(length for length in self.experiment.timing.lengths if length not in known)

    def with_measured(self, measured: Measured) -> "TimingRecord":
        """Return the record with one more length."""
        return TimingRecord(
            experiment=self.experiment,
            scale=self.scale,
            machine=self.machine,
            measured=(*self.measured, measured),
        )

"""Runs a timing experiment: a length at a time, each kept on the disk before the next begins.

A ratio compares arms that ran interleaved in one process, so a length is timed whole or again: a run that is killed
loses at most the length it was at.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from configuration.timing.costs import part_flops
from configuration.timing.experiment import TimingExperiment
from foundation.atomic_files import make_folder
from foundation.errors import ConflictError
from foundation.schema import JsonValue, canonical_text
from ledger.database import LEDGER_NAME
from ledger.paths import ResultPaths
from ledger.timing.keeping import has_timings, read, write
from ledger.timing.record import Machine, Measured, TimingRecord


@dataclass(frozen=True)
class Progress:
    """How far a run is, for the eye alone."""

    length: int
    """The length that is being timed, in tokens."""
    share: float
    """Of the operations that were left when the run began, how many are done."""
    seconds_left: float
    """At the pace so far."""
    finished: Measured | None = None
    """The length that has just been finished."""


Watch = Callable[[Progress], None]


def run(experiment: TimingExperiment, scale: str, places: ResultPaths, watch: Watch) -> TimingRecord:
    """Time what has not been timed and return the record. Raises a Refusal; all finished lengths are kept."""
    from runners.timing.measuring import measure, this_machine

    machine = this_machine(experiment)  # a device that is missing is refused before a folder is made
    make_folder(places.folder)
    with places.held():
        record = _open(experiment, scale, places, machine)
        pace = _Pace(experiment, record.missing)
        for length in record.missing:
            measured = measure(experiment, length, pace.told_at(length, watch))
            record = record.with_measured(measured)
            write(record, places.folder)
            watch(pace.after(measured))
        return record


def _open(experiment: TimingExperiment, scale: str, places: ResultPaths, machine: Machine) -> TimingRecord:
    """Return what the folder holds, which must be this experiment's on this machine, or a fresh record."""
    if (places.folder / LEDGER_NAME).exists():
        raise ConflictError(
            f"{places.folder}: holds another experiment's results. Did you mean another --out folder?"
        )
    if not has_timings(places.folder):
        record = TimingRecord(experiment=experiment, scale=scale, machine=machine)
        write(record, places.folder)
        return record
    record = read(places.folder)
    known = {**record.experiment.identity(), "machine": record.machine.model_dump()}
    wanted = {**experiment.identity(), "machine": machine.model_dump()}
    differing = list(_differences("", known, wanted))
    if differing:
        raise ConflictError(
            [
                f"{places.folder}: holds timings of something else; nothing was changed. What differs:",
                *(f"  {line}" for line in differing),
                "Did you mean another --out folder?",
            ]
        )
    return record


def _differences(path: str, known: JsonValue, wanted: JsonValue) -> Iterator[str]:
    if isinstance(known, dict) and isinstance(wanted, dict):
        for name in sorted(known.keys() | wanted.keys()):
            yield from _differences(f"{path}.{name}".removeprefix("."), known.get(name), wanted.get(name))
    elif known != wanted:
        there, here = ("the default" if each is None else canonical_text(each) for each in (known, wanted))
        yield f"{path}: {there} there, {here} here"


class _Pace:
    """How much is done, by operations, and how long the rest will take at the pace so far."""

    def __init__(self, experiment: TimingExperiment, lengths: tuple[int, ...]) -> None:
        timing = experiment.timing
        architectures = [arm.candidate.architecture for arm in experiment.candidates]
        self._rounds = timing.warm_up_rounds + timing.rounds
        self._weight = {length: sum(part_flops(a, timing.part, length) for a in architectures) for length in lengths}
        self._whole = self._rounds * sum(self._weight.values())
        self._done = 0
        self._started = time.monotonic()

    def at(self, length: int, rounds: int) -> Progress:
        """Return the progress between two rounds of a length."""
        share = (self._done + rounds * self._weight[length]) / self._whole
        elapsed = time.monotonic() - self._started
        return Progress(length, share, elapsed * (1 - share) / share)

    def told_at(self, length: int, watch: Watch) -> Callable[[int], None]:
        """Return what tells the watch of the rounds of a length."""
        return lambda rounds: watch(self.at(length, rounds))

    def after(self, measured: Measured) -> Progress:
        """Return the progress after a whole length."""
        self._done += self._rounds * self._weight[measured.length]
        told = self.at(measured.length, 0)
        return Progress(told.length, told.share, told.seconds_left, measured)

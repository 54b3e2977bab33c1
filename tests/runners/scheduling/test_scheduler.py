"""The scheduler is a pure function of rows: any prefix of a ledger leads to the same table."""

import random
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runners.dag import shared_stages
from runners.scheduler import next_step
from runners.scheduling.rows import Fact, Row
from runners.scheduling.state import RunState
from steeplechase.configuration.experiment import Experiment
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.database import Ledger
from steeplechase.ledger.records import ArmRow, Decision, Record, TrialRow
from steeplechase.ledger.snapshot import Snapshot
from tests.factories.simulated_training import Track, folder_of, found
from tests.factories.simulated_tune import Handed
from tests.runners.scheduling.test_transient_faults import (
    HURDLES,
    Faults,
    a_search,
    a_table_until_decided,
    a_tuned_table,
    experiments,
)  # fmt: skip

Batch = list[Row]
"""Rows that are on disk together or not at all."""


class LoggedLedger(Ledger):
    """Keeps its rows batch by batch, in the order in which they were written."""

    def __init__(self, path: Path, begun: Iterable[Batch] = ()) -> None:
        self.batches: list[Batch] = []
        self._batch: Batch | None = None
        super().__init__(path)
        for batch in begun:
            with self.transaction():
                for row in batch:
                    self._write(row)

    def _write(self, row: Row) -> None:
        match row:
            case Fact(name, value):
                self.set_fact(name, value)
            case ArmRow():
                self.add_arm(row)
            case TrialRow():
                self.add_trial(row)
            case Record():
                self.add_record(row)
            case Decision():
                self.add_decision(row)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        self._batch = []
        with super().transaction():
            yield
        self.batches.append(self._batch)
        self._batch = None

    def _log(self, row: Row) -> None:
        if self._batch is None:
            self.batches.append([row])
        else:
            self._batch.append(row)

    def set_fact(self, name: str, value: JsonValue) -> None:
        super().set_fact(name, value)
        self._log(Fact(name, value))

    def add_arm(self, arm: ArmRow) -> None:
        super().add_arm(arm)
        self._log(arm)

    def add_trial(self, trial: TrialRow) -> None:
        super().add_trial(trial)
        self._log(trial)

    def add_record(self, record: Record) -> Record:
        added = super().add_record(record)
        self._log(added)
        return added

    def add_decision(self, decision: Decision) -> Decision:
        added = super().add_decision(decision)
        self._log(added)
        return added


EXECUTORS = (Track, Handed)
"""Local execution of stages, and trials suggested to Ray Tune."""


def ran(track: Track, begun: list[Batch] | None = None) -> list[Batch]:
    """Run a track once over a ledger in memory that begins with some rows; return all rows of its ledger."""
    opened: list[LoggedLedger] = []

    def ledger(path: Path) -> LoggedLedger:
        opened.append(LoggedLedger(path, begun or ()))
        return opened[-1]

    track.ledger_path, track.ledger_type = Path(":memory:"), ledger
    track.run()
    return opened[-1].batches


def ended(track: Track, begun: list[Batch]) -> Snapshot:
    """Run a track again until no trial has failed."""
    while True:
        begun = ran(track, begun)
        assert track.last is not None
        if not track.last.failed:
            return track.last


@settings(max_examples=6, deadline=None)
@given(
    make=experiments,
    executors=st.tuples(st.sampled_from(EXECUTORS), st.sampled_from(EXECUTORS)),
    chance=st.randoms(use_true_random=False),
    rate=st.sampled_from([0.0, 0.1, 0.4]),
)
def test_resuming_from_any_prefix_of_a_ledger_gives_the_same_table(
    make: Callable[[Path], Experiment],
    executors: tuple[type[Track], type[Track]],
    chance: random.Random,
    rate: float,
) -> None:
    with TemporaryDirectory() as name:
        experiment, folder = make(Path(name)), Path(name)
        calm = Track(experiment, folder_of(folder, "calm"))
        ran(calm)
        faults = Faults(chance.randrange(10**6), rate)
        first, second = (
            kind(experiment, folder_of(folder, part), faults.answer, workers=chance.randint(1, 4), order=chance)
            for kind, part in zip(executors, ("first", "second"), strict=True)
        )
        batches = ran(first)
        part = batches[: chance.randint(0, len(batches))]
        assert calm.last is not None
        assert found(ended(second, part)) == found(calm.last)


def state_of(experiment: Experiment) -> RunState:
    return RunState(experiment, shared_stages(experiment), Path("ledger"))


@pytest.mark.parametrize("kind", EXECUTORS)
@pytest.mark.parametrize(
    "make",
    [
        a_tuned_table,
        a_table_until_decided,
        *(lambda folder, hurdle=hurdle: a_search(folder, hurdle, "tpe", [1, 2], True) for hurdle in HURDLES[1::2]),
    ],
)
def test_the_state_is_the_same_for_rows_in_one_batch_and_one_by_one_and_next_step_is_pure(
    tmp_path: Path, make: Callable[[Path], Experiment], kind: type[Track]
) -> None:
    experiment = make(tmp_path)
    track = kind(experiment, folder_of(tmp_path, "run"), Faults(1, 0.2).answer, order=random.Random(3))
    batches = ran(track)
    growing = state_of(experiment)
    kinds = ["ArmRow", "TrialRow", "Record", "Decision", "Fact"]
    for number, batch in enumerate(batches, 1):
        growing.apply_all(batch)
        step, cohort = next_step(growing), growing.cohort
        assert next_step(growing) == step
        assert growing.cohort == cohort
        if number % 5 == 0 or number == len(batches):
            rows = [row for one in batches[:number] for row in one]
            whole = state_of(experiment)
            whole.apply_all(sorted(rows, key=lambda row: kinds.index(type(row).__name__)))
            assert next_step(whole) == step
            assert whole.rows == growing.rows
            assert whole.trials == growing.trials
    last = next_step(growing)
    assert (last.ready, last.decisions, last.trials) == ((), (), ())

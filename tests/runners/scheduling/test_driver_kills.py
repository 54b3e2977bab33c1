"""A run killed at any point is resumed to the same table."""

from contextlib import suppress
from pathlib import Path

import pytest

from tests.factories.crashing_ledger import CrashingLedger
from tests.factories.simulated_training import (
    Killed,
    Track,
    found,
    opened,
    small_policy_search,
    small_search,
    small_table,
)

BEGINNING = 4
"""Rows that a run writes first: facts of its experiment."""
EXPERIMENTS = [small_table, small_search, small_policy_search]


@pytest.fixture(scope="module", params=EXPERIMENTS)
def whole(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Track:
    """Return the track of a run that was never killed."""
    folder = tmp_path_factory.mktemp("whole")
    track = Track(request.param(folder), folder)
    track.run()
    return track


def test_a_run_killed_before_every_row_is_resumed_to_the_same_table(tmp_path: Path, whole: Track) -> None:
    """Each life of one results folder writes one row more than its beginning; more where a transaction needs them."""
    assert whole.last is not None
    computed: list[str] = []
    written, more = 0, 1
    for _ in range(500):
        rows = BEGINNING + more
        life = Track(whole.experiment, tmp_path, ledger_type=lambda path, rows=rows: CrashingLedger(path, rows))
        with suppress(Killed):
            life.run()
        assert not set(computed) & set(life.computed)
        computed += life.computed
        if life.last is not None:
            break
        with opened(tmp_path / "ledger.sqlite") as ledger:
            before = written
            written = sum(map(len, (ledger.arms(), ledger.trials(), ledger.records(), ledger.decisions())))
        more = 1 if written > before else more + 1
    assert life.last is not None
    assert found(life.last) == found(whole.last)
    assert written >= 15  # as many places as there are rows

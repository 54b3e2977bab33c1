"""A run killed at any point is resumed to the same table."""

import random
from pathlib import Path
from typing import Any

import pytest

from tests.factories.crashing_ledger import CrashingLedger
from tests.factories.simulated_training import Killed, Track, folder_of, found, small_search, small_table

EXPERIMENTS = [small_table, small_search]


@pytest.mark.parametrize("make", EXPERIMENTS)
def test_a_run_killed_after_any_stage_is_resumed_to_the_same_table(tmp_path: Path, make: Any) -> None:
    experiment = make(tmp_path)
    whole = Track(experiment, folder_of(tmp_path, "whole"))
    expected = found(whole.run())
    for stages in range(1, len(whole.computed)):
        folder = folder_of(tmp_path, f"after {stages}")
        killed = Track(experiment, folder, left=stages)
        with pytest.raises(Killed):
            killed.run()
        resumed = Track(experiment, folder, order=random.Random(stages))
        assert found(resumed.run()) == expected
        assert sorted(killed.computed + resumed.computed) == sorted(whole.computed)


@pytest.mark.parametrize("make", EXPERIMENTS)
def test_a_run_killed_before_any_row_is_resumed_to_the_same_table(tmp_path: Path, make: Any) -> None:
    experiment = make(tmp_path)
    expected = found(Track(experiment, folder_of(tmp_path, "whole")).run())
    rows, killed = 4, True
    while killed:
        rows += 1
        folder, killed = folder_of(tmp_path, f"before {rows}"), False
        crashing = Track(experiment, folder, ledger_type=lambda path, rows=rows: CrashingLedger(path, rows))
        try:
            crashing.run()
        except Killed:
            killed = True
        resumed = Track(experiment, folder)
        assert found(resumed.run()) == expected, rows
        assert not set(crashing.computed) & set(resumed.computed)
    assert rows >= 20  # as many places as there are rows

"""After kills of drivers and workers at random moments, the same command gives the same table."""

import random
import sqlite3
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from ledger.example_tables import Replicate, kept_example_tables
from tests.factories.command_line import (
    SHARED,
    SMOKE,
    Run,
    descendants,
    end_by_themselves,
    kill,
    lend,
    start,
    steeplechase,
)

pytestmark = pytest.mark.engines

KILLS = 2
SEED = 20261121


def mirrored(folder: Path) -> tuple[Counter[str], set[str]]:
    """Return the number of MLflow runs by identity, and their status tags."""
    with closing(sqlite3.connect(folder / "mlflow.db")) as database:
        identities = database.execute("SELECT value FROM tags WHERE key = 'steeplechase.identity'").fetchall()
        within = Counter(value.partition("@")[2].partition("/")[2] for (value,) in identities)  # without the folder
        return within, {status for (status,) in database.execute("SELECT status FROM runs")}


def examples(folder: Path) -> dict[str, tuple[tuple[Replicate, ...], list[list[float]]]]:
    """Return the values of single examples by metric, every file verified against the sha256 of its record."""
    tables = kept_example_tables(folder)
    assert {"held_out_loss", "docs_pair:accuracy", "docs_answer:f1"} < tables.keys()
    return {metric: (table.replicates, table.values.tolist()) for metric, table in tables.items()}


def test_after_random_kills_the_same_command_gives_the_same_table(smoke: Run, tmp_path: Path) -> None:
    lend(smoke.folder, tmp_path, SHARED)
    chance = random.Random(SEED)
    command = ("run", *SMOKE, "--out", tmp_path, "--workers", "2")
    killed = 0
    while killed < KILLS:
        driver = start(*command, mirrored=True)
        time.sleep(chance.uniform(0.1, 0.3) * smoke.seconds)
        if driver.poll() is not None:  # it ended before the kill
            break
        assert end_by_themselves(kill(driver))
        killed += 1
    assert killed > 1
    done = steeplechase(*command, mirrored=True)
    assert done.returncode == 0, done.stderr
    assert Run(tmp_path, "", 0.0).table == smoke.table
    assert examples(tmp_path) == examples(smoke.folder)
    identities, standings = mirrored(tmp_path)
    assert set(identities.values()) == {1}
    assert identities == mirrored(smoke.folder)[0]
    assert "RUNNING" not in standings


def test_workers_exit_when_their_driver_dies(smoke: Run, tmp_path: Path) -> None:
    lend(smoke.folder, tmp_path, SHARED)
    driver = start("run", *SMOKE, "--out", tmp_path, "--workers", "2")
    until = time.monotonic() + 60
    while len(descendants(driver.pid)) < 2 and time.monotonic() < until:
        time.sleep(0.1)
    below = descendants(driver.pid)
    assert len(below) >= 2
    driver.kill()  # the driver alone: workers run in sessions of their own
    driver.wait()
    assert end_by_themselves(below)

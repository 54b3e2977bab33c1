"""The table is byte for byte the same for every executor, number of processes and order of results."""

from pathlib import Path

import pytest

from tests.factories.command_line import SHARED, SMOKE, Run, lend, stages_told, steeplechase

pytestmark = pytest.mark.engines

TRIALS, STAGES_PER_TRIAL = 6, 4


def test_the_smoke_table_is_complete(smoke: Run) -> None:
    assert stages_told(smoke.told) == 2 + 3 + 3 + 1 + TRIALS * STAGES_PER_TRIAL
    assert len(list((smoke.folder / "stages" / "pretrain").iterdir())) == TRIALS
    assert not list((smoke.folder / "stages" / "unfinished").iterdir())
    for name in ("report.html", "report.json", "report.md", "report.tex", "mlflow.db"):
        assert (smoke.folder / name).stat().st_size > 0


def test_repeating_the_command_computes_nothing_and_gives_the_same_output(smoke: Run) -> None:
    table = smoke.table
    again = steeplechase("run", *SMOKE, "--out", smoke.folder)
    assert (again.returncode, stages_told(again.stderr)) == (0, 0)
    assert smoke.table == table


def test_trials_recomputed_on_ray_give_the_same_table(smoke: Run, tmp_path: Path) -> None:
    """With one worker for two; of two Ray workers for a local one, see test_ray_cluster.py."""
    lend(smoke.folder, tmp_path, SHARED)  # the trials alone are compared
    done = steeplechase("run", *SMOKE, "--out", tmp_path, "--workers", "1", "--engine", "ray", mirrored=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "mlflow.db").is_file()
    assert len(list((tmp_path / "stages" / "pretrain").iterdir())) == TRIALS
    assert Run(tmp_path, done.stderr, 0.0).table == smoke.table
    assert stages_told(done.stderr) == TRIALS * STAGES_PER_TRIAL

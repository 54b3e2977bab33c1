"""Decisions of a search are the same on local processes and on Ray, hurdles and audit included."""

from contextlib import closing
from pathlib import Path

import pytest

from ledger.database import Ledger
from tests.factories.command_line import ROOT, Run, lend, steeplechase

pytestmark = pytest.mark.engines

PROGRESSIVE = "{ kind: progressive_mean, rungs: [5000, 10000] }"
OF_COHORTS = "{ kind: top_fraction, rungs: [5000, 10000] }"


def searched(folder: Path, *how: str) -> tuple[Run, list[tuple[object, ...]], object]:
    """Return the run of a search whose hurdle waits for full cohorts, its decisions and its audit."""
    text = (ROOT / "experiments/search.yaml").read_text().split("\nscales:\n")
    smoke = text[1][text[1].index("  smoke:") :]
    assert PROGRESSIVE in smoke
    head = text[0].replace("progressive_mean", "top_fraction")
    experiment = folder / "search.yaml"
    experiment.write_text(f"{head}\nscales:\n{smoke.replace(PROGRESSIVE, OF_COHORTS)}")
    done = steeplechase("run", experiment, "--scale", "smoke", "--out", folder / "results", *how)
    assert done.returncode == 0, done.stderr
    with closing(Ledger.at(folder / "results")) as ledger:
        told = sorted(
            (one.trial, one.level, one.cleared, str(one.value), str(one.threshold), one.cohort)
            for one in ledger.decisions()
        )
        return Run(folder / "results", done.stderr, 0.0), [*told], ledger.fact("audit")


def test_both_executors_give_the_same_decisions(tmp_path: Path) -> None:
    (tmp_path / "local").mkdir()
    (tmp_path / "ray").mkdir()
    local, decided, audited = searched(tmp_path / "local", "--workers", "1")
    lend(local.folder, tmp_path / "ray" / "results", ("corpus", "tokens", "evaluation_set"))
    ray, decided_there, audited_there = searched(tmp_path / "ray", "--workers", "2", "--engine", "ray")
    assert decided
    assert audited
    assert (decided_there, audited_there) == (decided, audited)
    assert ray.table == local.table

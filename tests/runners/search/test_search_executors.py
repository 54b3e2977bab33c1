"""Decisions of a search are the same on local processes and on Ray: hurdles, audit and policies included."""

import json
from contextlib import closing
from pathlib import Path

import pytest

from steeplechase.ledger.database import Ledger
from tests.factories.command_line import ROOT, Run, lend, steeplechase

pytestmark = pytest.mark.engines

PROGRESSIVE = "{ kind: progressive_mean, rungs: [5000, 10000] }"
OF_COHORTS = "{ kind: top_fraction, rungs: [5000, 10000] }"
PAUSES = "{ kind: pause, rungs: [2500, 5000, 10000] }"
COHORTS = "{ max_candidates: 8, cohort: 2 }"
POLICY = "{ max_candidates: 8, policy: progressive_hurdles, trainings: 2, tournament: { population: 2 } }"


def experiment_of(folder: Path, policy: bool) -> Path:
    """Return the smoke scale of the search, under a hurdle that waits for full cohorts or under a policy."""
    text = (ROOT / "experiments/search.yaml").read_text().split("\nscales:\n")
    smoke = text[1][text[1].index("  smoke:") :]
    assert PROGRESSIVE in smoke
    assert COHORTS in smoke
    smoke = smoke.replace("maximum_megabytes: 2", "maximum_megabytes: 0.5")
    head = text[0].replace("progressive_mean", "pause" if policy else "top_fraction")
    if policy:
        head = "\n".join(line for line in head.splitlines() if line.strip() not in ("cohort: 10", "sampler: tpe"))
        smoke = smoke.replace(COHORTS, POLICY)
    experiment = folder / "search.yaml"
    smoke = smoke.replace(PROGRESSIVE, PAUSES if policy else OF_COHORTS)
    experiment.write_text(f"{head}\nscales:\n{smoke}")
    return experiment


def searched(experiment: Path, out: Path, *how: str) -> tuple[Run, list[tuple[object, ...]], object]:
    """Return the run of a search, its decisions and its audit."""
    done = steeplechase("run", experiment, "--scale", "smoke", "--out", out, *how)
    assert done.returncode == 0, done.stderr
    with closing(Ledger.at(out)) as ledger:
        told = sorted(
            (one.trial, one.level, one.cleared, str(one.value), str(one.threshold), one.cohort)
            for one in ledger.decisions()
        )
        return Run(out, done.stderr, 0.0), [*told], ledger.fact("audit")


@pytest.mark.parametrize("policy", [False, True], ids=["hurdle", "policy"])
def test_both_executors_give_the_same_decisions(tmp_path: Path, policy: bool) -> None:
    experiment = experiment_of(tmp_path, policy)
    local, decided, audited = searched(experiment, tmp_path / "local", "--workers", "1")
    lend(local.folder, tmp_path / "ray", ("corpus", "tokens", "evaluation_set"))
    ray, decided_there, audited_there = searched(experiment, tmp_path / "ray", "--workers", "2", "--engine", "ray")
    assert decided
    assert audited
    assert (decided_there, audited_there) == (decided, audited)
    assert ray.table == local.table
    if policy:
        again = steeplechase("replay", ray.folder, "--decisions", "--json")
        assert json.loads(again.stdout)["decisions"] == len(decided), again.stderr

"""First mirror of a finished search to a SQLite store of MLflow, and the next one: runs per second of processor time.

Each candidate is two runs: its arm, and a trial with two curves of 100 points and 63 parameters.
Usage: python -m benchmarks.mirror [CANDIDATES]
"""

import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from runners.tracking import TrackingStore, mirror
from search_space.candidate import Candidate
from steeplechase.configuration.stage_label import PRETRAIN
from steeplechase.ledger.records import ArmRow, Record, Status, TrialRow, TrialStatus
from steeplechase.ledger.snapshot import Snapshot
from steeplechase.ledger.stage_results import PretrainResult
from steeplechase.ledger.trial_history import TrialHistory

TOKENS, POINTS = 1_000_000, 100


def main(candidates: int) -> None:
    """Measure and print one table."""
    study = search(candidates)
    table = Table("mirror", "runs", "runs per CPU second", title=f"{candidates} candidates, SQLite")
    with tempfile.TemporaryDirectory() as folder:
        store = TrackingStore.resolve(Path(folder), None, {})
        store.prepare(60.0)
        for name in ("first", "again"):
            began = time.process_time()
            summary = mirror(study, store)
            runs = summary.created + summary.updated + summary.unchanged
            table.add_row(name, str(runs), f"{runs / (time.process_time() - began):.0f}")
    Console().print(table)


def search(candidates: int) -> Snapshot:
    """Return a finished search with one trial for each candidate."""
    names = ["baseline", *(f"candidate{number}" for number in range(1, candidates))]
    arms = tuple(_arm(name, place) for place, name in enumerate(names))
    labels = (f"{PRETRAIN}@{TOKENS}",)
    return Snapshot("search", "whole", {}, labels, arms, tuple(_history(arm, labels[0]) for arm in arms), ())


def _arm(name: str, place: int) -> ArmRow:
    return ArmRow(name, Candidate(), {}, position=place, cohort=0, parameters=1, forward_flops=1, train_flops=1)


def _history(arm: ArmRow, label: str) -> TrialHistory:
    curve = tuple(
        (TOKENS * step // POINTS, 9.0 - step / POINTS + arm.position / 1e4) for step in range(1, POINTS + 1)
    )
    result = PretrainResult(tokens=TOKENS, held_out_loss=curve[-1][1], held_out_curve=curve, train_curve=curve)
    trial = TrialRow(f"{arm.name}/1", arm.name, 1)
    record = Record(1 + arm.position, trial.name, PRETRAIN, label, trial.name, Status.FINISHED, result, 9.0, False)
    return TrialHistory(trial, (record,), (), TrialStatus.FINISHED)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)

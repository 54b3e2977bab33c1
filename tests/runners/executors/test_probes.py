"""A planted probe as an experiment: a model learns what is planted with the mechanism, and not without it."""

import csv
from pathlib import Path

import pytest

from tests.factories.command_line import ROOT, steeplechase

pytestmark = [pytest.mark.engines, pytest.mark.slow]
PROBES = ROOT / "experiments" / "probes"


def test_what_is_planted_in_the_segment_before_is_learned_with_a_memory_alone(tmp_path: Path) -> None:
    """One seed of three, at a third of the budget."""
    changes = ("--set", "pretraining.seeds=[1]", "--set", "pretraining.tokens=115200")
    file = PROBES / "segment_memory.yaml"
    done = steeplechase("run", file, "--scale", "laptop", *changes, "--workers", "1", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    with (tmp_path / "tables" / "results.csv").open() as table:
        means = {row["arm"]: float(row["mean"]) for row in csv.DictReader(table) if row["metric"] == "held_out_loss"}
    assert means["baseline"] < means["no_memory"] - 2

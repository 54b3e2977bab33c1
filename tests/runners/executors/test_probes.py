"""The planted probes as experiments: a model learns what is planted with the mechanism, and not without it."""

import csv
from pathlib import Path

import pytest

from tests.factories.command_line import ROOT, steeplechase

pytestmark = [pytest.mark.engines, pytest.mark.slow]
PROBES = ROOT / "experiments" / "probes"


@pytest.mark.parametrize(
    ("name", "tokens", "metric", "off", "least"),
    [
        ("transfer", 512_000, "word_order", "scratch", 20.0),
        ("segment_memory", 172_800, "held_out_loss", "no_memory", -2.0),
    ],
)
def test_what_is_planted_is_learned_with_the_mechanism_alone(
    name: str, tokens: int, metric: str, off: str, least: float, tmp_path: Path
) -> None:
    """One seed of three, at about half of the budget where that suffices. Negative: the loss is lower by that."""
    changes = ("--set", "pretraining.seeds=[1]", "--set", f"pretraining.tokens={tokens}")
    done = steeplechase(
        "run", PROBES / f"{name}.yaml", "--scale", "laptop", *changes, "--workers", "1", "--out", tmp_path
    )
    assert done.returncode == 0, done.stderr
    with (tmp_path / "tables" / "results.csv").open() as file:
        means = {row["arm"]: float(row["mean"]) for row in csv.DictReader(file) if row["metric"] == metric}
    difference = means["baseline"] - means[off]
    assert difference / least > 1

"""The planted probes as experiments: a model learns what is planted with the mechanism, and not without it."""

import csv
from pathlib import Path

import pytest

from tests.factories.command_line import ROOT, steeplechase

pytestmark = [pytest.mark.engines, pytest.mark.slow]
PROBES = ROOT / "experiments" / "probes"


@pytest.mark.parametrize(
    ("name", "metric", "off", "least"),
    [
        ("transfer", "word_order", "scratch", 20.0),
        ("bidirectional_cue", "held_out_loss", "left_to_right", -0.5),
        ("segment_memory", "held_out_loss", "no_memory", -2.0),
    ],
)
def test_what_is_planted_is_learned_with_the_mechanism_alone(
    name: str, metric: str, off: str, least: float, tmp_path: Path
) -> None:
    """One seed of three. A negative number: the loss is lower by at least that."""
    text = (PROBES / f"{name}.yaml").read_text()
    assert "seeds: [1, 2, 3]" in text
    (tmp_path / "probe.yaml").write_text(text.replace("seeds: [1, 2, 3]", "seeds: [1]"))
    done = steeplechase("run", tmp_path / "probe.yaml", "--scale", "laptop", "--out", tmp_path / "results")
    assert done.returncode == 0, done.stderr
    with (tmp_path / "results" / "tables" / "results.csv").open() as file:
        means = {row["arm"]: float(row["mean"]) for row in csv.DictReader(file) if row["metric"] == metric}
    difference = means["baseline"] - means[off]
    assert difference / least > 1

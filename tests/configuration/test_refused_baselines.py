"""A refused baseline is one of the lines of a refusal, whatever else the experiment declares."""

import pytest

from configuration.latency import LatencyExperiment
from configuration.loading import LATENCY_SECTION, experiment_in
from configuration.yaml import read_file
from configuration.yaml.errors import ConfigurationError
from configuration.yaml.settings import with_settings
from tests.factories.paths import EXPERIMENT_FILES, EXPERIMENTS

REFUSED = (
    "baseline.architecture.heads=7",
    "baseline.objective={ kind: denoising }",
    "baseline.objective={ kind: mixed_visibility }",
    "baseline.recipe.sequence_length=1000000",
)
"""Values that most baselines refuse: sizes, objectives of other architectures, and positions."""


@pytest.mark.parametrize("setting", REFUSED)
@pytest.mark.parametrize("name", EXPERIMENT_FILES)
def test_other_rules_are_checked_beside_a_refused_baseline(name: str, setting: str) -> None:
    """Every rule between sections can be asked of an experiment without arms: only lines come back."""
    file = read_file(EXPERIMENTS / name)
    if LATENCY_SECTION in file.keys:
        pytest.skip(f"a {LatencyExperiment.__name__} has rules of its own")
    try:
        experiment_in(with_settings(file, "smoke", [setting]), "smoke")
    except ConfigurationError as refusal:
        assert all(line.count(": ") >= 2 for line in refusal.lines), "place, key and reason"

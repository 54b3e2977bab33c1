"""The repository's experiments as their files say, each loaded once by a process of tests; they are frozen."""

from functools import cache

from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.loading import load_experiment
from tests.factories.paths import EXPERIMENTS


@cache
def experiment_of(file: str, scale: str | None) -> Experiment:
    """Return an experiment, its file relative to the folder of experiments."""
    return load_experiment(EXPERIMENTS / file, scale)

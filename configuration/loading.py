"""An experiment read from a file, with every rule between its sections applied.

A file with a `timing` section is a latency experiment; every other one trains.
"""

from pathlib import Path

from configuration.experiment import Experiment
from configuration.latency import LatencyExperiment
from configuration.matched_budget import THROUGHPUT, Throughput, nothing_measured
from configuration.validation.experiment import violations_of
from configuration.yaml import ConfigurationFile, read_file

AnyExperiment = Experiment | LatencyExperiment
LATENCY_SECTION = "timing"
"""The key at the top of a file that only a latency experiment has."""


def load_experiment(path: Path, scale: str | None, throughput: Throughput = nothing_measured) -> Experiment:
    """Return an experiment that trains, at a scale or without one.

    Raises ConfigurationError, or MachineError for the file.
    """
    return _trained(read_file(path), scale, throughput)


def experiment_in(
    file: ConfigurationFile, scale: str | None, throughput: Throughput = nothing_measured
) -> AnyExperiment:
    """Return the experiment of a file that has been read. Raises ConfigurationError with all mistakes by line."""
    if LATENCY_SECTION in file.keys:
        return file.declaration(LatencyExperiment, scale)
    return _trained(file, scale, throughput)


def _trained(file: ConfigurationFile, scale: str | None, throughput: Throughput) -> Experiment:
    return file.declaration(Experiment, scale, {THROUGHPUT: throughput}, violations_of)

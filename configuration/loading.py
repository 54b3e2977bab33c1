"""Loads an experiment from a file and applies the rules between its sections.

A file with a `timing` section is a latency experiment; any other is a training experiment.
"""

from pathlib import Path

from configuration.experiment import Experiment
from configuration.latency import LatencyExperiment
from configuration.matched_budget import THROUGHPUT, Throughput, nothing_measured
from configuration.validation.experiment import violations_of
from configuration.yaml import ConfigurationFile, read_file

AnyExperiment = Experiment | LatencyExperiment
LATENCY_SECTION = "timing"
"""The top-level key that only latency experiments have."""


def load_experiment(path: Path, scale: str | None, throughput: Throughput = nothing_measured) -> Experiment:
    """Return a training experiment, at a scale or without one.

    Raises ConfigurationError, or MachineError if the file cannot be read.
    """
    return _training_experiment(read_file(path), scale, throughput)


def experiment_in(
    file: ConfigurationFile, scale: str | None, throughput: Throughput = nothing_measured
) -> AnyExperiment:
    """Return the experiment of a parsed file. Raises ConfigurationError with all mistakes by line."""
    if LATENCY_SECTION in file.keys:
        return file.declaration(LatencyExperiment, scale)
    return _training_experiment(file, scale, throughput)


def _training_experiment(file: ConfigurationFile, scale: str | None, throughput: Throughput) -> Experiment:
    return file.declaration(Experiment, scale, {THROUGHPUT: throughput}, violations_of)

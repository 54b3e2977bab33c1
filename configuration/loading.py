"""An experiment read from a file, with every rule between its sections applied."""

from pathlib import Path

from configuration.experiment import Experiment
from configuration.matched_budget import THROUGHPUT, Throughput, nothing_measured
from configuration.validation.experiment import violations_of
from configuration.yaml import ConfigurationFile, read_file


def load_experiment(path: Path, scale: str | None, throughput: Throughput = nothing_measured) -> Experiment:
    """Return an experiment at a scale, or without one. Raises ConfigurationError, or MachineError for the file."""
    return experiment_in(read_file(path), scale, throughput)


def experiment_in(
    file: ConfigurationFile, scale: str | None, throughput: Throughput = nothing_measured
) -> Experiment:
    """Return the experiment of a file that has been read. Raises ConfigurationError with all mistakes by line."""
    return file.declaration(Experiment, scale, {THROUGHPUT: throughput}, violations_of)

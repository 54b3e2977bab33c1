"""Loads an experiment from a file and applies the rules between its sections.

A file with a `timing` section is a latency experiment; any other is a training experiment.
"""

from pathlib import Path

from steeplechase.configuration.checkpoints import with_checkpoints
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.latency import LatencyExperiment
from steeplechase.configuration.plugin_folders import BASE
from steeplechase.configuration.plugin_options import forget_recorded_options
from steeplechase.configuration.plugins import PluginError, load_plugin
from steeplechase.configuration.validation.experiment import violations_of
from steeplechase.configuration.validation.tracking import tracking_violations
from steeplechase.configuration.yaml import ConfigurationFile, read_file
from steeplechase.configuration.yaml.errors import mistake, refuse
from steeplechase.configuration.yaml.nodes import Items, Leaf, child

AnyExperiment = Experiment | LatencyExperiment
LATENCY_SECTION = "timing"
"""The top-level key that only latency experiments have."""


def load_experiment(path: Path, scale: str | None) -> Experiment:
    """Return a training experiment, at a scale or without one.

    Raises ConfigurationError, or MachineError if the file cannot be read.
    """
    return _training_experiment(read_file(path), scale)


def experiment_in(file: ConfigurationFile, scale: str | None) -> AnyExperiment:
    """Return the experiment of a parsed file. Raises ConfigurationError with all mistakes by line."""
    if LATENCY_SECTION in file.keys:
        return file.declaration(LatencyExperiment, scale, {BASE: _load_plugins(file)}, tracking_violations)
    return _training_experiment(file, scale)


def _training_experiment(file: ConfigurationFile, scale: str | None) -> Experiment:
    base = _load_plugins(file)
    return with_checkpoints(file).declaration(Experiment, scale, {BASE: base}, violations_of)


def _load_plugins(file: ConfigurationFile) -> Path:
    """Load the plugins before the file is validated; return the folder that they are relative to."""
    forget_recorded_options()
    folder, listed = Path(file.name).parent, child(file.document, "plugins")
    mistakes = []
    for item in listed.nodes if isinstance(listed, Items) else ():
        if isinstance(item, Leaf) and isinstance(item.value, str):
            try:
                load_plugin(folder / item.value)
            except PluginError as error:
                mistakes += [mistake(file.name, item.location, line) for line in error.lines]
    if mistakes:
        refuse(mistakes)
    return folder

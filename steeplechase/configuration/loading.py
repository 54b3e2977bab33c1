"""Loads an experiment from a file and applies the rules between its sections."""

from pathlib import Path

from steeplechase.configuration.checkpoints import with_checkpoints
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.plugin_folders import BASE
from steeplechase.configuration.plugin_options import forget_recorded_options
from steeplechase.configuration.plugins import PluginError, load_plugin
from steeplechase.configuration.validation.experiment import violations_of
from steeplechase.configuration.yaml import ConfigurationFile, read_file
from steeplechase.configuration.yaml.errors import mistake, refuse
from steeplechase.configuration.yaml.nodes import Items, Leaf, child

FORMER_SECTION = "timing"
FORMER = (
    "experiments of this layout are written as others now: architecture: ... is baseline: { architecture: ... }; "
    "arms: ... is design: { kind: list, arms: ... }, without the baseline's name and those of its copies; "
    "timing: ... is measure: { latency: ... }, with these as baseline: NAME and control: NAME, and paper.orderings "
    "as faster: [...]"
)
"""The layout of an earlier version, and what it is today."""


def load_experiment(path: Path, scale: str | None) -> Experiment:
    """Return an experiment, at a scale or without one.

    Raises ConfigurationError, or MachineError if the file cannot be read.
    """
    return experiment_in(read_file(path), scale)


def experiment_in(file: ConfigurationFile, scale: str | None) -> Experiment:
    """Return the experiment of a parsed file. Raises ConfigurationError with all mistakes by line."""
    if FORMER_SECTION in file.keys:
        refuse([mistake(file.name, file.document.nodes[FORMER_SECTION].location, FORMER)])
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

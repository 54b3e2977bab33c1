"""The arguments that several commands share, and how an experiment is found at a scale."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from configuration.experiment import Experiment
from configuration.latency import LatencyExperiment
from configuration.loading import AnyExperiment, experiment_in
from configuration.yaml import ConfigurationFile, read_file
from foundation.errors import ConfigurationError, did_you_mean
from ledger.measured_throughput import seconds_per_operation
from ledger.records import WITHOUT_SCALES
from search_space.cost import CONVENTIONS, Convention

DEFAULT_SCALE = "demo"

ExperimentFile = Annotated[
    Path, typer.Argument(metavar="EXPERIMENT", help="A YAML file such as experiments/table2.yaml.")
]
Scale = Annotated[str | None, typer.Option(help=f"One of the file's scales; {DEFAULT_SCALE} where it has that one.")]
FlopsName = Annotated[
    str,
    typer.Option(
        "--flops",
        metavar="|".join(CONVENTIONS),
        autocompletion=lambda: [*CONVENTIONS],
        help="How operations are counted.",
    ),
]


def folder_named(name: str | Path) -> Path:
    """Return a folder by its name; an empty one, such as a shell's variable that is not set, is a mistake."""
    if str(name) == "":
        raise typer.BadParameter("the name is empty; write . for the current folder")
    return Path(name)


ResultsFolder = Annotated[
    Path,
    typer.Argument(metavar="DIR", help="A results folder such as results/table2-demo.", parser=folder_named),
]
NewFolder = Annotated[
    Path,
    typer.Argument(metavar="OUT", help="The folder to write; it must not be there yet.", parser=folder_named),
]


@dataclass(frozen=True)
class Chosen:
    """An experiment at one of its scales."""

    experiment: Experiment
    scale: str
    scales: tuple[str, ...] = ()
    """Every scale of its file."""


def choose(path: Path, scale: str | None) -> Chosen:
    """Read an experiment that trains. Raises ConfigurationError with every mistake of the file."""
    experiment, name, scales = choose_any(path, scale)
    if isinstance(experiment, LatencyExperiment):
        raise ConfigurationError(f"{path}: a timing experiment; only plan and run read it, and report its results")
    return Chosen(experiment, name, scales)


def choose_any(path: Path, scale: str | None) -> tuple[AnyExperiment, str, tuple[str, ...]]:
    """Read an experiment of either kind; return it with the name of its scale and every scale of its file.

    Raises ConfigurationError with every mistake of the file.
    """
    file = read_file(path)
    wanted = _wanted_scale(file, scale)
    return experiment_in(file, wanted, seconds_per_operation), wanted or WITHOUT_SCALES, file.scales


def _wanted_scale(file: ConfigurationFile, scale: str | None) -> str | None:
    known = file.scales
    if scale is None and known and DEFAULT_SCALE not in known:
        raise ConfigurationError(f"{file.name}: choose one of its scales with --scale: {', '.join(known)}")
    return scale or (DEFAULT_SCALE if known else None)


def convention_named(name: str) -> Convention:
    """Return a counting convention. Raises ConfigurationError with those that there are."""
    if name not in CONVENTIONS:
        raise ConfigurationError(f"--flops: {not_one_of(name, 'a counting convention', CONVENTIONS)}")
    return CONVENTIONS[name]


def not_one_of(name: str, what: str, known: Iterable[str]) -> str:
    """Return that a name is unknown, with those that are known and the nearest of them."""
    names = list(known)
    return f"{name!r} is not {what}; allowed: {', '.join(names)}{did_you_mean(name, names, '. ', str)}"

"""The arguments that several commands share, and how an experiment is found at a scale."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from runners.experiment import Experiment
from runners.loading import load, scales
from search_space.refusals import ConfigurationRefused

DEFAULT_SCALE = "demo"
WITHOUT_SCALES = "whole"  # the scale's name where a file has none

ExperimentFile = Annotated[
    Path, typer.Argument(metavar="EXPERIMENT", help="A YAML file such as experiments/table2.yaml.")
]
Scale = Annotated[str | None, typer.Option(help=f"One of the file's scales; {DEFAULT_SCALE} where it has that one.")]
ResultsFolder = Annotated[Path, typer.Argument(metavar="DIR", help="A results folder such as results/table2-demo.")]


@dataclass(frozen=True)
class Chosen:
    """An experiment at one of its scales."""

    experiment: Experiment
    scale: str


def choose(path: Path, scale: str | None) -> Chosen:
    """Read an experiment. Raises ConfigurationRefused with every mistake of the file."""
    known = scales(path)
    if scale is None and known and DEFAULT_SCALE not in known:
        raise ConfigurationRefused(f"{path}: choose one of its scales with --scale: {', '.join(known)}")
    wanted = scale or (DEFAULT_SCALE if known else None)
    return Chosen(load(path, Experiment, wanted), wanted or WITHOUT_SCALES)

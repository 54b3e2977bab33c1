"""Arguments of several commands, and the selection of an experiment at a scale."""

import hashlib
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from runners.part import WHOLE, Part, part_of
from search_space.cost import CONVENTIONS, Convention
from search_space.module_factories import FLAG as FACTORIES_OF
from search_space.module_factories import allow_packages
from steeplechase.commands.checkpoints import with_imported_folders
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.latency import LatencyExperiment
from steeplechase.configuration.loading import AnyExperiment, experiment_in
from steeplechase.configuration.yaml import ConfigurationFile, read_file
from steeplechase.configuration.yaml.experiment_files import experiment_file, experiment_files
from steeplechase.configuration.yaml.settings import FLAG, changed_keys, with_settings
from steeplechase.foundation.errors import ConfigurationError, not_one_of
from steeplechase.foundation.schema import canonical_text
from steeplechase.ledger.paths import ResultPaths
from steeplechase.ledger.records import WITHOUT_SCALES

if TYPE_CHECKING:
    pass

DEFAULT_SCALE = "demo"
GROWING = ("pretraining.seeds", "fine_tuning.seeds", "fine_tuning.tasks")
"""Keys of settings that leave a study in its results folder."""
SETTINGS_SHOWN = 60
"""Letters of the settings in the name of a results folder; longer ones are shortened and hashed."""

ExperimentFile = Annotated[
    Path,
    typer.Argument(
        metavar="EXPERIMENT",
        help="A YAML file, or the name of an experiment, such as table2.",
        autocompletion=lambda: [*experiment_files()],
    ),
]
Scale = Annotated[
    str | None, typer.Option(help=f"One of the file's scales; default: {DEFAULT_SCALE}, if the file has it.")
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        FLAG, metavar="KEY=VALUE", help="A value in place of the file's, such as pretraining.tokens=1e5; repeatable."
    ),
]
FactoryPackages = Annotated[
    list[str] | None,
    typer.Option(
        FACTORIES_OF, metavar="PACKAGE", help="A package whose functions the file may name as factories; repeatable."
    ),
]


def _names(text: str) -> tuple[str, ...]:
    """Return the names in a text that separates them by commas."""
    return tuple(filter(None, (name.strip() for name in text.split(","))))


ArmNames = Annotated[
    str | None, typer.Option("--arms", metavar="NAMES", help="Only these arms, such as baseline,k3; others later.")
]
SeedNames = Annotated[
    str | None, typer.Option("--seeds", metavar="SEEDS", help="Only these pretraining seeds, such as 1,2 or 1-3.")
]
TaskNames = Annotated[str | None, typer.Option("--tasks", metavar="NAMES", help="Only these downstream tasks.")]
FlopsName = Annotated[
    str,
    typer.Option(
        "--flops",
        metavar="|".join(CONVENTIONS),
        autocompletion=lambda: [*CONVENTIONS],
        help="FLOP counting convention.",
    ),
]


StoreUrl = Annotated[
    str,
    typer.Option(
        "--store",
        metavar="URL",
        help="Object store of the stages, such as s3://BUCKET/PREFIX; contacted only if it is given.",
        show_default=False,
    ),
]


def folder_named(name: str | Path) -> Path:
    """Return a folder by its name; an empty name, as from an unset shell variable, is an error."""
    if str(name) == "":
        raise typer.BadParameter("the name is empty; write . for the current folder")
    return Path(name)


ResultsFolder = Annotated[
    Path,
    typer.Argument(metavar="DIR", help="A results folder such as results/table2-demo.", parser=folder_named),
]
NewFolder = Annotated[
    Path,
    typer.Argument(metavar="OUT", help="The folder to write; it must not exist yet.", parser=folder_named),
]


@dataclass(frozen=True)
class Chosen:
    """A training experiment at one of its scales."""

    experiment: Experiment
    scale: str
    scales: tuple[str, ...] = ()
    """All scales of its file."""
    command: str = ""
    """The command line that runs it, for messages."""


@dataclass(frozen=True)
class PartNames:
    """The part of an experiment to run, as the command line names it; None is all."""

    arms: str | None = None
    seeds: str | None = None
    tasks: str | None = None

    def of(self, experiment: AnyExperiment) -> Part:
        """Return the part of an experiment. Raises ConfigurationError with everything that is unknown."""
        given = {"--arms": self.arms, "--seeds": self.seeds, "--tasks": self.tasks}
        if empty := [flag for flag, text in given.items() if text is not None and not _names(text)]:
            raise ConfigurationError([f"{flag}: names nothing; leave it out for all" for flag in empty])
        if isinstance(experiment, LatencyExperiment):
            if any(given.values()):
                raise ConfigurationError("--arms, --seeds, --tasks: a timing experiment is run as a whole")
            return WHOLE
        return part_of(experiment, _names(self.arms or ""), self.seeds or "", _names(self.tasks or ""))


ALL = PartNames()


def choose(path: Path, scale: str | None, packages: Sequence[str] = ()) -> Chosen:
    """Read a training experiment, as `choose_any`. Raises ConfigurationError with every mistake of the file."""
    experiment, name, scales = choose_any(path, scale, packages=packages)
    if isinstance(experiment, LatencyExperiment):
        raise ConfigurationError(f"{path}: a timing experiment; only plan and run read it, and report its results")
    return Chosen(experiment, name, scales)


def choose_any(
    path: Path, scale: str | None, settings: Sequence[str] = (), packages: Sequence[str] = ()
) -> tuple[AnyExperiment, str, tuple[str, ...]]:
    """Read an experiment of either kind; return it with the name of its scale and all scales of its file.

    `settings` are KEY=VALUE, in place of values of the file; `packages` those whose functions it may name as
    factories, beside its plugins'. Raises ConfigurationError with every mistake.
    """
    allow_packages(packages)
    file = read_file(experiment_file(path))
    wanted = _wanted_scale(file, scale)
    file = with_imported_folders(with_settings(file, wanted, settings))
    return experiment_in(file, wanted), wanted or WITHOUT_SCALES, file.scales


def command_of(file: Path, scale: str, settings: Sequence[str]) -> str:
    """Return the command line that runs an experiment."""
    at_scale = [] if scale == WITHOUT_SCALES else ["--scale", scale]
    return shlex.join(["steeplechase", "run", str(file), *at_scale, *(f"{FLAG}={each}" for each in settings)])


def results_of(out: Path | None, experiment: str, scale: str, settings: Sequence[str]) -> ResultPaths:
    """Return the paths of the results: of `out`, or by default those named after experiment, scale and settings.

    Settings by which a study grows or shrinks are not in the name.
    """
    if out is not None:
        return ResultPaths.of(out)
    settings = [setting for setting in settings if setting.partition("=")[0] not in GROWING]
    changed = re.sub(r"[^A-Za-z0-9.,=_-]+", "_", ",".join(changed_keys(settings)))
    if len(changed) > SETTINGS_SHOWN:
        digest = hashlib.sha256(canonical_text([*settings]).encode()).hexdigest()
        changed = f"{changed[:SETTINGS_SHOWN]}-{digest[:8]}"
    return ResultPaths.default(experiment, "-".join(filter(None, [scale, changed])))


def _wanted_scale(file: ConfigurationFile, scale: str | None) -> str | None:
    known = file.scales
    if scale is None and known and DEFAULT_SCALE not in known:
        raise ConfigurationError(f"{file.name}: choose one of its scales with --scale: {', '.join(known)}")
    return scale or (DEFAULT_SCALE if known else None)


def convention_named(name: str) -> Convention:
    """Return a counting convention. Raises ConfigurationError with the known ones if the name is unknown."""
    if name not in CONVENTIONS:
        raise ConfigurationError(f"--flops: {not_one_of(name, 'a counting convention', CONVENTIONS)}")
    return CONVENTIONS[name]

"""Settings of a run, one field each: the flags of `run`, the keywords of `steeplechase.run`, what executors read.

No result depends on them, apart from the scale and the overrides, which are part of the experiment.
"""

import hashlib
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Literal

import typer
from typer.models import OptionInfo

from runners.flags import (
    FactoryPackages,
    Scale,
    StoreUrl,
    WrongSetting,
    flag_of,
    folder_named,
    options_of,
    refuse_out_of_range,
)
from runners.limits import Limits, seconds_in
from runners.part import Part, part_of
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.yaml.loader import FLAG, changed_keys
from steeplechase.foundation.canonical import canonical_text
from steeplechase.foundation.errors import ConfigurationError
from steeplechase.ledger.paths import ResultPaths
from steeplechase.ledger.records import WITHOUT_SCALES

LOCAL: Final = "local"
RAY: Final = "ray"
GROWING = ("pretraining.seeds", "fine_tuning.seeds", "fine_tuning.tasks")
"""Values by which a study may grow in its results folder, beside its arms; as overrides they are not in its name."""
OVERRIDES_SHOWN = 60
"""Letters of the overrides in the name of a results folder; longer ones are shortened and hashed."""


@dataclass(frozen=True, kw_only=True)
class Selection:
    """An experiment at a scale with overrides, the part of it that is meant, and where its results are."""

    scale: Scale = None
    overrides: Annotated[
        tuple[str, ...],
        typer.Option(
            FLAG,
            metavar="KEY=VALUE",
            help="A value in place of the file's, such as pretraining.tokens=1e5; repeatable.",
        ),
    ] = ()
    arms: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Only these arms, such as baseline,k3; others may run later.")
    ] = None
    seeds: Annotated[
        str | None, typer.Option(metavar="SEEDS", help="Only these pretraining seeds, such as 1,2 or 1-3.")
    ] = None
    tasks: Annotated[str | None, typer.Option(metavar="NAMES", help="Only these downstream tasks.")] = None
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Results folder; default: results/EXPERIMENT-SCALE, with the settings if any.",
            parser=folder_named,
        ),
    ] = None
    store: StoreUrl = ""
    factories_of: FactoryPackages = ()
    reuse: Annotated[
        tuple[Path, ...],
        typer.Option(
            metavar="DIR",
            help="A published report or results folder: what is finished there is not run again.",
            parser=folder_named,
        ),
    ] = ()

    def __post_init__(self) -> None:
        """Make paths of folders that are given as text."""
        object.__setattr__(self, "reuse", tuple(map(Path, self.reuse)))

    @property
    def objects(self) -> str:
        """URL of the object store that has the stages; empty if every worker sees their folder."""
        return self.store.rstrip("/")

    def part_of(self, experiment: Experiment) -> Part:
        """Return the part of an experiment. Raises ConfigurationError with everything that is unknown."""
        given = {"--arms": self.arms, "--seeds": self.seeds, "--tasks": self.tasks}
        if empty := [flag for flag, text in given.items() if text is not None and not _names(text)]:
            raise ConfigurationError([f"{flag}: names nothing; leave it out for all" for flag in empty])
        return part_of(experiment, _names(self.arms or ""), self.seeds or "", _names(self.tasks or ""))

    def paths_of(self, experiment: str, scale: str) -> ResultPaths:
        """Return the paths of the results: of `out`, or by default those named after experiment, scale and overrides.

        Overrides by which a study grows or shrinks are not in the name.
        """
        if self.out is not None:
            return ResultPaths.of(self.out)
        named = [override for override in self.overrides if override.partition("=")[0] not in GROWING]
        changed = re.sub(r"[^A-Za-z0-9.,=_-]+", "_", ",".join(changed_keys(named)))
        if len(changed) > OVERRIDES_SHOWN:
            digest = hashlib.sha256(canonical_text([*named]).encode()).hexdigest()
            changed = f"{changed[:OVERRIDES_SHOWN]}-{digest[:8]}"
        return ResultPaths.default(experiment, "-".join(filter(None, [scale, changed])))

    def command(self, file: Path, scale: str) -> str:
        """Return the command that runs an experiment at a scale, with every flag that is not at its default.

        Where the results are, and the cluster that computes them, are left out.
        """
        words = ["steeplechase", "run", str(file), *([] if scale == WITHOUT_SCALES else ["--scale", scale])]
        for field, _, option in options_of(type(self)):
            value = getattr(self, field.name)
            if field.name not in ("scale", "out", "store", "address") and value != field.default:
                flag = FLAG if field.name == "overrides" else flag_of(field.name)
                values = value if isinstance(value, tuple) else (value,)
                words += [word for each in values for word in (flag, _written(each, option))]
        return shlex.join(words)


@dataclass(frozen=True, kw_only=True)
class RunSettings(Limits, Selection):
    """How an experiment is run. Raises WrongSetting for values that are out of range or contradict each other."""

    engine: Annotated[Literal["local", "ray"], typer.Option(help="Processes on this machine, or Ray Tune.")] = LOCAL
    workers: Annotated[int, typer.Option(min=1, max=1024, help="Trials at a time, one thread each.")] = 2
    address: Annotated[
        str | None, typer.Option(help="A Ray cluster, with --engine ray; all its nodes see the --out folder.")
    ] = None
    gpus_per_trial: Annotated[
        float | None,
        typer.Option(min=0, help="A fraction of a GPU, such as 0.25, or whole GPUs; default: shared by all workers."),
    ] = None

    def __post_init__(self) -> None:
        """Check the values; types are the caller's, but for folders given as text."""
        super().__post_init__()
        refuse_out_of_range(self)
        self.refuse_contradictions()
        if self.address is not None and self.engine != RAY:
            raise WrongSetting("address", "only Ray has a cluster's address; add --engine ray")
        share = self.gpus_per_trial
        if share is not None and share > 1 and share != int(share):
            raise WrongSetting("gpus_per_trial", f"{share:g} is neither a fraction of one GPU nor whole GPUs")

    @property
    def of_trials(self) -> tuple[str, ...]:
        """The given flags that only trials have a use for."""
        given = {"--reuse": bool(self.reuse), "--stop-after-tokens": self.stop_after_tokens is not None}
        return (*self.elsewhere, *(flag for flag, is_given in given.items() if is_given))

    @property
    def elsewhere(self) -> tuple[str, ...]:
        """The given flags by which stages may run on other machines."""
        given = {"--engine": self.engine != LOCAL, "--address": self.address is not None}
        return tuple(flag for flag, is_given in given.items() if is_given)


def _written(value: object, option: OptionInfo) -> str:
    """Return a value as its flag reads it."""
    number = f"{value:.15g}" if isinstance(value, float) else str(value)
    return f"{number}s" if option.parser is seconds_in else number


def _names(text: str) -> tuple[str, ...]:
    """Return the names in a text that separates them by commas."""
    return tuple(filter(None, (name.strip() for name in text.split(","))))

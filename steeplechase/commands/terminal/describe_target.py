"""Target of `describe`: a published model, or a file with an architecture, a candidate or an experiment."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from runners.flags import FactoryPackages, Scale
from search_space.architecture import Architecture
from search_space.candidate import Candidate
from search_space.module_factories import allow_packages
from search_space.recipe import Recipe
from search_space.released.models import PRESETS
from search_space.summary import Subject
from steeplechase.commands.arguments import choose
from steeplechase.configuration.arm import BASELINE
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.yaml import load, read_file
from steeplechase.foundation.errors import ConfigurationError, not_one_of
from steeplechase.foundation.schema import Schema

DOCUMENTS: tuple[type[Schema], ...] = (Architecture, Candidate, Experiment)


@dataclass(frozen=True, kw_only=True)
class DescribeArguments:
    """Which candidate of a file is described, and at which sizes."""

    scale: Scale = None
    arm: Annotated[str | None, typer.Option(help="An arm of an experiment; its baseline by default.")] = None
    length: Annotated[int | None, typer.Option(min=1, help="Tokens of a sequence; the recipe's by default.")] = None
    batch: Annotated[int | None, typer.Option(min=1, help="Sequences of a batch; the recipe's by default.")] = None
    factories_of: FactoryPackages = ()


def find_target(what: str, arguments: DescribeArguments) -> tuple[Subject, Recipe]:
    """Return the subject and its training. Raises ConfigurationError with every error."""
    path = Path(what)
    allow_packages(arguments.factories_of)
    if what in PRESETS:
        _refuse_options(arguments, "a published model", ("scale", "arm"))
        preset = PRESETS[what]
        subject, recipe = _target_of(what, preset.candidate, None)
        return (subject if preset.has_objective else replace(subject, objective=None)), recipe
    if not path.exists() and not path.suffix:
        raise ConfigurationError(f"{not_one_of(what, 'a published model', PRESETS)}; and no such file")
    model = _model_of(path)
    if model is Experiment:
        return _of_experiment(arguments, path)
    _refuse_options(arguments, f"a file with no experiment ({path})", ("arm",))
    if model is Candidate:
        return _target_of(path.stem, load(path, Candidate, arguments.scale), None)
    architecture, recipe = load(path, Architecture, arguments.scale), Recipe()
    return Subject(path.stem, architecture, None, architecture, recipe.dropout), recipe


def _model_of(path: Path) -> type[Schema]:
    """Return the declaration with the most fields among the file's keys; an architecture if there is none."""
    keys = read_file(path).keys
    return max(DOCUMENTS, key=lambda model: len(keys & set(model.model_fields)))


def _of_experiment(arguments: DescribeArguments, path: Path) -> tuple[Subject, Recipe]:
    chosen = choose(path, arguments.scale, arguments.factories_of)
    arms = {arm.name: arm for arm in chosen.experiment.arms}
    name = BASELINE if arguments.arm is None else arguments.arm
    if name not in arms:
        raise ConfigurationError(f"--arm: {not_one_of(name, f'an arm of {path}', arms)}")
    title = f"{chosen.experiment.experiment} at scale {chosen.scale}: {name}"
    return _target_of(title, arms[name].candidate, chosen.experiment.baseline.architecture)


def _target_of(name: str, candidate: Candidate, baseline: Architecture | None) -> tuple[Subject, Recipe]:
    architecture, recipe = candidate.architecture, candidate.recipe
    subject = Subject(name, architecture, candidate.objective, baseline or architecture, recipe.dropout)
    return subject, recipe


def _refuse_options(arguments: DescribeArguments, what: str, names: tuple[str, ...]) -> None:
    given = [f"--{name}" for name in names if getattr(arguments, name) is not None]
    if given:
        raise ConfigurationError(f"{', '.join(given)}: {what} has none; allowed with an experiment file")

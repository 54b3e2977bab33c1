"""Target of `describe`: a published model, or a file with an architecture, a candidate or an experiment."""

from dataclasses import dataclass
from pathlib import Path

from commands.arguments import choose, not_one_of
from configuration.arm import BASELINE
from configuration.experiment import Experiment
from configuration.yaml import load, read_file
from foundation.errors import ConfigurationError
from foundation.schema import Schema
from search_space.architecture import Architecture
from search_space.candidate import Candidate
from search_space.recipe import Recipe
from search_space.released.models import PRESETS
from search_space.summary import Subject

DOCUMENTS: tuple[type[Schema], ...] = (Architecture, Candidate, Experiment)


@dataclass(frozen=True)
class Wanted:
    """Arguments of the command line."""

    what: str
    scale: str | None
    arm: str | None


def found(wanted: Wanted) -> tuple[Subject, Recipe]:
    """Return the subject and its training. Raises ConfigurationError with every error."""
    path = Path(wanted.what)
    if wanted.what in PRESETS:
        _refuse_options(wanted, "a published model", ("scale", "arm"))
        return _taught(wanted.what, PRESETS[wanted.what].candidate, None)
    if not path.exists() and not path.suffix:
        raise ConfigurationError(f"{not_one_of(wanted.what, 'a published model', PRESETS)}; and no such file")
    model = _model_of(path)
    if model is Experiment:
        return _of_experiment(wanted, path)
    _refuse_options(wanted, f"a file with no experiment ({path})", ("arm",))
    if model is Candidate:
        return _taught(path.stem, load(path, Candidate, wanted.scale), None)
    architecture, recipe = load(path, Architecture, wanted.scale), Recipe()
    return Subject(path.stem, architecture, None, architecture, recipe.dropout), recipe


def _model_of(path: Path) -> type[Schema]:
    """Return the declaration with the most fields among the file's keys; an architecture if there is none."""
    keys = read_file(path).keys
    return max(DOCUMENTS, key=lambda model: len(keys & set(model.model_fields)))


def _of_experiment(wanted: Wanted, path: Path) -> tuple[Subject, Recipe]:
    chosen = choose(path, wanted.scale)
    arms = {arm.name: arm for arm in chosen.experiment.arms}
    name = BASELINE if wanted.arm is None else wanted.arm
    if name not in arms:
        raise ConfigurationError(f"--arm: {not_one_of(name, f'an arm of {path}', arms)}")
    title = f"{chosen.experiment.experiment} at scale {chosen.scale}: {name}"
    return _taught(title, arms[name].candidate, chosen.experiment.baseline.architecture)


def _taught(name: str, candidate: Candidate, baseline: Architecture | None) -> tuple[Subject, Recipe]:
    architecture, recipe = candidate.architecture, candidate.recipe
    subject = Subject(name, architecture, candidate.objective, baseline or architecture, recipe.dropout)
    return subject, recipe


def _refuse_options(wanted: Wanted, what: str, names: tuple[str, ...]) -> None:
    given = [f"--{name}" for name in names if getattr(wanted, name) is not None]
    if given:
        raise ConfigurationError(f"{', '.join(given)}: {what} has none; allowed with an experiment file")

"""Arguments of several commands, and the selection of an experiment at a scale."""

import hashlib
import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple, get_args, get_origin

import typer

from runners.flags import DEFAULT_SCALE, WrongSetting, folder_named, options_of
from search_space.cost import CONVENTIONS, Convention
from search_space.module_factories import allow_packages
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.initial_checkpoint import is_initial_checkpoint
from steeplechase.configuration.loading import experiment_in, with_folders
from steeplechase.configuration.yaml import ConfigurationFile, read_file
from steeplechase.configuration.yaml.experiment_files import experiment_file, experiment_files
from steeplechase.configuration.yaml.loader import with_settings
from steeplechase.foundation.atomic_files import sha256_of
from steeplechase.foundation.errors import ConfigurationError, ConflictError, UserError, not_one_of
from steeplechase.ledger.paths import RESULTS
from steeplechase.ledger.records import WITHOUT_SCALES
from steeplechase.tasks.data_folder import resolved

IMPORTED = Path(RESULTS) / "imported"
CONFIG = "config.json"
SOURCES = ("*.json", "*.txt", "*.model", "*.safetensors")
"""The files of a Hugging Face folder that a checkpoint is made of."""
DIGITS = 16


def with_imported_folders(file: ConfigurationFile) -> ConfigurationFile:
    """Return the file with its Hugging Face folders as initial checkpoints.

    Raises DataError with the reasons why a folder cannot be imported.
    """
    documents = {scale: with_folders(document, _imported) for scale, document in file.documents.items()}
    return replace(file, documents=documents)


def _imported(name: str) -> str:
    """Return the initial checkpoint of a Hugging Face folder; any other path is returned unchanged."""
    folder = resolved(name)
    if is_initial_checkpoint(folder) or not (folder / CONFIG).is_file():
        return name
    from steeplechase.commands.huggingface.import_folder import import_folder

    out = IMPORTED / f"{folder.resolve().name}-{_content(folder)[:DIGITS]}"
    if not is_initial_checkpoint(out):
        out.parent.mkdir(parents=True, exist_ok=True)
        try:
            import_folder(folder, out, f"{folder} as {out}")
        except ConflictError:
            if not is_initial_checkpoint(out):  # else another command has imported it meanwhile
                raise
    return str(out)


def _content(folder: Path) -> str:
    """Return the hash of the names and contents of a folder's files."""
    files = sorted({path for pattern in SOURCES for path in folder.glob(pattern) if path.is_file()})
    return hashlib.sha256("\n".join(f"{path.name} {sha256_of(path)}" for path in files).encode()).hexdigest()


ExperimentFile = Annotated[
    Path,
    typer.Argument(
        metavar="EXPERIMENT",
        help="A YAML file, or the name of an experiment, such as table2.",
        autocompletion=lambda: [*experiment_files()],
    ),
]
FlopsName = Annotated[
    str,
    typer.Option(
        "--flops",
        metavar="|".join(CONVENTIONS),
        autocompletion=lambda: [*CONVENTIONS],
        help="FLOP counting convention.",
    ),
]


ResultsFolder = Annotated[
    Path,
    typer.Argument(metavar="DIR", help="A results folder such as results/table2-demo.", parser=folder_named),
]
NewFolder = Annotated[
    Path,
    typer.Argument(metavar="OUT", help="The folder to write; it must not exist yet.", parser=folder_named),
]


def with_flags_of(settings: type) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator: an option of the command for every field of a class, in place of the parameter `settings`.

    What the class refuses is a mistake of the command line.
    """
    options = {field.name: (field, kind, option) for field, kind, option in options_of(settings)}

    def parameter(name: str) -> inspect.Parameter:
        field, kind, option = options[name]
        repeated = get_origin(kind) is tuple
        given: Any = list[get_args(kind)[0]] | None if repeated else kind  # type: ignore[misc]
        return inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None if repeated else field.default,
            annotation=Annotated[given, option],
        )

    def decorated(function: Callable[..., None]) -> Callable[..., None]:
        def command(**given: Any) -> None:
            values = {name: given.pop(name) for name in options}
            for name in (name for name in options if get_origin(options[name][1]) is tuple):
                values[name] = tuple(values[name] or ())
            try:
                chosen = settings(**values)
            except WrongSetting as wrong:
                raise typer.BadParameter(wrong.message, param_hint=wrong.flag) from None
            function(settings=chosen, **given)

        parameters: list[inspect.Parameter] = []
        for one in inspect.signature(function).parameters.values():
            own = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY)]
            parameters += map(parameter, options) if one.name == "settings" else own
        signature = inspect.Signature(parameters)
        command.__doc__, command.__signature__ = function.__doc__, signature  # type: ignore[attr-defined]
        command.__annotations__ = {name: one.annotation for name, one in signature.parameters.items()}
        return command

    return decorated


class Chosen(NamedTuple):
    """An experiment at one of its scales."""

    experiment: Experiment
    scale: str
    scales: tuple[str, ...]
    """All scales of its file."""


def choose(path: Path, scale: str | None, settings: Sequence[str] = (), packages: Sequence[str] = ()) -> Chosen:
    """Return the experiment of a file.

    `settings` are KEY=VALUE, in place of values of the file; `packages` those whose functions it may name as
    factories, beside its plugins'. Raises ConfigurationError with every mistake.
    """
    allow_packages(packages)
    file = read_file(experiment_file(path))
    wanted = _wanted_scale(file, scale)
    file = with_imported_folders(with_settings(file, wanted, settings))
    return Chosen(experiment_in(file, wanted), wanted or WITHOUT_SCALES, file.scales)


def with_places(error: UserError, path: Path, scale: str | None, settings: Sequence[str] = ()) -> UserError:
    """Return an error about data with file and line before each setting that names them; the arguments as before."""
    file = read_file(experiment_file(path))
    wanted = _wanted_scale(file, scale)
    file = with_settings(file, wanted, settings)
    return type(error)(file.with_place(line, wanted) for line in error.lines)


def _wanted_scale(file: ConfigurationFile, scale: str | None) -> str | None:
    known = [*filter(None, file.documents)]  # all mistakes of the file are said later, at once
    if scale is None and known and DEFAULT_SCALE not in known:
        raise ConfigurationError(f"{file.name}: choose one of its scales with --scale: {', '.join(file.scales)}")
    return scale or (DEFAULT_SCALE if known else None)


def convention_named(name: str) -> Convention:
    """Return a counting convention. Raises ConfigurationError with the known ones if the name is unknown."""
    if name not in CONVENTIONS:
        raise ConfigurationError(f"--flops: {not_one_of(name, 'a counting convention', CONVENTIONS)}")
    return CONVENTIONS[name]

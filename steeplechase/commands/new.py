"""`steeplechase new` and `init`: an experiment file from the template or like another, a part like another."""

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from steeplechase.commands.arguments import NewFolder
from steeplechase.commands.new_part import copy_part, example_folder
from steeplechase.configuration.yaml import read_file
from steeplechase.configuration.yaml.experiment_files import (
    INSTALLED,
    SCHEMA,
    SUFFIX,
    SUFFIXES,
    experiment_file,
    experiment_files,
)
from steeplechase.configuration.yaml.explanations import NAME_PATTERN, NAME_RULE
from steeplechase.configuration.yaml.nodes import Entries, Items, Leaf, child, read_document
from steeplechase.configuration.yaml.text import read_text
from steeplechase.foundation.atomic_files import (
    atomic_directory,
    disk_refusals,
    make_folder,
    refuse_existing,
    write_whole,
)
from steeplechase.foundation.errors import ConfigurationError, MachineError

TEMPLATE = Path(__file__).parent / "new_experiment.yaml"
SCHEMA_LINE = "# yaml-language-server: $schema="
NAME_LINE = re.compile(r"^experiment:.*$", re.MULTILINE)

NewName = Annotated[str, typer.Argument(metavar="NAME", help="The experiment's name, or its file.")]
Like = Annotated[
    str | None,
    typer.Option(
        metavar="EXPERIMENT|FOLDER",
        help="The experiment, or the folder of a plugin such as `examples/token_shift`, to copy; by default a "
        "commented template of an experiment.",
    ),
]


def new(name: NewName, like: Like = None) -> None:
    """Write a new experiment file NAME.yaml, or a folder NAME with a part like an example's and its experiment."""
    if like is not None and (part := example_folder(Path(like))) is not None:
        folder = Path(name)
        copy_part(part, folder, f"{SCHEMA_LINE}{_from(folder, _schema())}\n")
        print(f"written: {folder}\nnext: steeplechase check {folder}")  # noqa: T201
        return
    target = Path(name) if name.endswith(SUFFIXES) else Path(f"{name}{SUFFIX}")
    if not re.fullmatch(NAME_PATTERN, target.stem):
        raise ConfigurationError(f"{target.stem!r}: {NAME_RULE}")
    refuse_existing(target)
    source = TEMPLATE if like is None else experiment_file(Path(like))
    text = copied(source, target)
    make_folder(target.parent)
    with disk_refusals(target):
        write_whole(target, text.encode())
    scales = read_file(target).scales
    command = f"steeplechase plan {target}" + (f" --scale {scales[-1]}" if scales else "")
    print(f"written: {target}\nscales: {', '.join(scales) or 'none'}\nnext: {command}")  # noqa: T201


def copied(source: Path, target: Path) -> str:
    """Return an experiment file's text under the name of the target, its references made to fit the target's folder.

    Raises MachineError if the source cannot be read, ConfigurationError if it is not an experiment file.
    """
    text = read_text(source)
    document, _ = read_document(str(source), text)
    if "experiment" not in document.nodes:
        raise ConfigurationError(f"{source}: not an experiment file: no key 'experiment'")
    lines = text.splitlines(keepends=True)
    for reference in _references(document):
        index, old = reference.location.line - 1, str(reference.value)
        lines[index] = lines[index].replace(old, _from(target.parent, source.parent / old), 1)
    if lines[0].startswith(SCHEMA_LINE):
        del lines[0]
    named = NAME_LINE.sub(f"experiment: {target.stem}", "".join(lines), count=1)
    return f"{SCHEMA_LINE}{_from(target.parent, _schema())}\n{named}"


def _references(document: Entries) -> Iterator[Leaf]:
    """Yield the values that are paths relative to the file: inherited scales and plugins."""
    scales, plugins = child(document, "scales"), child(document, "plugins")
    like = None if scales is None else child(scales, "like")
    items = plugins.nodes if isinstance(plugins, Items) else ()
    yield from (node for node in (like, *items) if isinstance(node, Leaf) and isinstance(node.value, str))


def _schema() -> Path:
    beside = Path(INSTALLED.name) / SCHEMA
    return beside if beside.is_file() else INSTALLED / SCHEMA


def _from(folder: Path, file: Path) -> str:
    """Return a file's path as seen from a folder; absolute unless both are below the working folder."""
    if not all(path.resolve().is_relative_to(Path.cwd()) for path in (folder, file)):
        return str(file.resolve())
    return Path(os.path.relpath(file, folder)).as_posix()


def init(folder: NewFolder) -> None:
    """Copy the experiments and their schema into OUT/experiments, to be changed there."""
    if not INSTALLED.is_dir():
        raise MachineError(f"{INSTALLED}: no such folder; install steeplechase again")
    target = folder / INSTALLED.name
    with atomic_directory(target) as temporary:
        shutil.copytree(INSTALLED, temporary, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".*", "__pycache__"))
    count = sum(1 for _ in target.rglob(f"*{SUFFIX}"))
    print(  # noqa: T201
        f"written: {count} experiments and their schema in {target}\n"
        f"next: cd {folder} && steeplechase plan {next(iter(experiment_files()))}"
    )

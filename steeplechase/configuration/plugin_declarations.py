"""What is wrong with the declarations of a plugin: one line per reason, without importing what needs torch."""

import ast
import re
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import redirect_stdout
from importlib import import_module
from pathlib import Path
from types import ModuleType

from search_space.sublayer import lettered_sublayer, sublayers_by_letter
from steeplechase.foundation.atomic_files import read_regular
from steeplechase.foundation.plugin_layout import place_of
from steeplechase.foundation.schema import OpenOption, axis_of, option_in

DECLARED = ("search_space", "steeplechase.tasks.downstream", "steeplechase.tasks.corpora")
"""Packages that are imported with the experiment; the others need torch and are imported by the stages."""
DOWNSTREAM = "steeplechase.tasks.downstream"
SUBLAYERS = "search_space.sublayer"
"""The package of sublayers, which have letters in place of kinds."""


def declaration_mistakes(module: str, folder: Path, files: Mapping[str, Path]) -> Iterator[str]:
    """Yield what is wrong with a declaration; modules that need torch are not imported here."""
    package, _, name = module.rpartition(".")
    path = files[module]
    if not package.startswith(DECLARED) or name.startswith("_"):
        yield from _syntax_mistakes(path)
        return
    try:
        with redirect_stdout(sys.stderr):  # standard output is the command's
            imported = import_module(module)
    except (Exception, SystemExit) as error:  # a file that ends the process would end the command without a word
        yield f"{path}:{_line(error, path)}: cannot be imported: {type(error).__name__}: {_first_line(error)}"
        return
    axis = axis_of(package)
    if axis is not None:
        yield from _option_mistakes(imported, axis, folder, files)
    if package == SUBLAYERS:
        yield from _sublayer_mistakes(imported, folder, files)
    if package == DOWNSTREAM and getattr(getattr(imported, "TASK", None), "name", None) != name:
        yield f"{path}: no task; TASK named {name!r} is needed, or a file name that begins with an underscore"


def _syntax_mistakes(path: Path) -> Iterator[str]:
    try:
        ast.parse(read_regular(path), path)
    except (SyntaxError, ValueError) as error:
        yield f"{path}:{_line(error, path)}: cannot be imported: {type(error).__name__}: {_first_line(error)}"


def _option_mistakes(
    module: ModuleType, axis: type[OpenOption], folder: Path, files: Mapping[str, Path]
) -> Iterator[str]:
    try:
        option = option_in(module, axis)
    except ValueError as error:
        yield f"{files[module.__name__]}: {error}"
        return
    if option is not None and axis.modules:
        yield from _without_module(module, axis.modules, folder, files)


def _sublayer_mistakes(module: ModuleType, folder: Path, files: Mapping[str, Path]) -> Iterator[str]:
    path = files[module.__name__]
    try:
        sublayer = lettered_sublayer(module)
    except ValueError as error:
        yield f"{path}: {error}"
        return
    if sublayer is None:
        return
    letter = sublayer.letter
    if not re.fullmatch(r"[A-Za-z_]\w*", letter):
        yield f"{path}: letter {letter!r}; a layer program needs a letter or a word"
    try:
        other = sublayers_by_letter().get(letter, sublayer)
    except Exception:  # another file of the plugin, which has a line of its own
        return
    if other is not sublayer:
        yield f"{path}: the letter {letter} is that of {other.kind}; choose another"
    yield from _without_module(module, sublayer.modules, folder, files)


def _without_module(module: ModuleType, package: str, folder: Path, files: Mapping[str, Path]) -> Iterator[str]:
    needed = f"{package}.{module.__name__.rpartition('.')[2]}"
    if needed not in files:
        place = place_of(needed).with_suffix(".py")
        yield f"{files[module.__name__]}: an option without its module; {folder / place} is needed"


def _line(error: BaseException, path: Path) -> int:
    """Return the line of the file at which an import failed."""
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return error.lineno or 1
    frames = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    return (frames[-1] if frames else None) or 1


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0]

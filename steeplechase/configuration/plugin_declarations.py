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
from typing import Literal, get_args, get_origin

from search_space.sublayer import lettered_sublayer, sublayers_by_letter
from steeplechase.foundation.atomic_files import read_regular
from steeplechase.foundation.option_modules import place_of
from steeplechase.foundation.schema import VARIANT_KEY, OpenOption, axis_of, kind_of, options_defined, options_of
from steeplechase.tasks.downstream import PUBLISHED

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
    if package == DOWNSTREAM and name in PUBLISHED:
        yield f"{path}: the name of a built-in task; choose another"
    elif package == DOWNSTREAM and getattr(getattr(imported, "TASK", None), "name", None) != name:
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
    if option is None:
        return
    if _is_built_in(kind_of(option), option, axis):
        yield f"{files[module.__name__]}: the name of a built-in option; choose another"
    if axis.modules:
        yield from _without_module(module, axis.modules, folder, files)


def option_in(module: ModuleType, axis: type[OpenOption]) -> type[OpenOption] | None:
    """Return the option that a file defines, None for a file that holds what options share. Raises ValueError."""
    defined = [
        each for each in vars(module).values() if isinstance(each, type) and each.__module__ == module.__name__
    ]
    nameless = [each for each in defined if issubclass(each, axis) and not kind_of(each) and _names_kind(each)]
    if nameless:
        (kind,) = get_args(nameless[0].model_fields[VARIANT_KEY].annotation)[:1]
        raise ValueError(f'{nameless[0].__name__}: kind has no default; write kind: Literal["{kind}"] = "{kind}"')
    found = options_defined(module, axis)
    if not found:
        return None
    name = module.__name__.rpartition(".")[2]
    if len(found) > 1:
        raise ValueError(f"{', '.join(each.__name__ for each in found)}: a file defines one option")
    if kind_of(found[0]) != name:
        raise ValueError(f"{found[0].__name__}: its kind is {kind_of(found[0])!r}; the file is named {name}")
    return found[0]


def _is_built_in(kind: str, option: type[OpenOption], axis: type[OpenOption]) -> bool:
    try:
        return any(kind_of(each) == kind for each in options_of(axis) if each is not option)
    except Exception:  # another file of the plugin, which has a line of its own
        return False


def _names_kind(option: type[OpenOption]) -> bool:
    return get_origin(option.model_fields[VARIANT_KEY].annotation) is Literal


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

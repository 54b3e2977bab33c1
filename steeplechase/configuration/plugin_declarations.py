"""What is wrong with the declarations of a plugin: one line per reason, without importing what needs torch."""

import ast
import re
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping
from contextlib import redirect_stdout
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Literal, get_args, get_origin

from search_space.module_factories import imported_names
from search_space.sublayer import lettered_sublayer, sublayers_by_letter
from search_space.sublayer.sublayer import LetteredSublayer
from steeplechase.foundation.atomic_files import read_regular
from steeplechase.foundation.errors import closest, did_you_mean, not_one_of
from steeplechase.foundation.option_modules import place_of
from steeplechase.foundation.schema import VARIANT_KEY, OpenOption, axis_of, kind_of, options_defined, options_of
from steeplechase.tasks.downstream import PUBLISHED
from steeplechase.tasks.labelled.task import Form

DECLARED = ("search_space", "steeplechase.tasks.downstream", "steeplechase.tasks.corpora")
"""Packages that are imported with the experiment; the others need torch and are imported by the stages."""
DOWNSTREAM = "steeplechase.tasks.downstream"
FROZEN: Mapping[object, str] = {
    list: "a list, which can change; write tuple[int, ...] or the like",
    set: "a set, which can change; write frozenset",
}
"""What to write in place of a type whose values can change."""
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
    elif package == DOWNSTREAM and imported.TASK.form not in get_args(Form):
        yield f"{path}: TASK.form: {not_one_of(str(imported.TASK.form), 'a form of tasks', get_args(Form))}"


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
        yield from _without_kind(module, axis, files)
        return
    if _is_built_in(kind_of(option), option, axis):
        yield f"{files[module.__name__]}: the name of a built-in option; choose another"
    yield from _abstract(option, files[module.__name__])
    yield from _changeable(option, files[module.__name__])
    if axis.modules:
        yield from _without_module(module, axis.modules, axis.entry, folder, files)


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
        for each in _defined_in(module, LetteredSublayer):
            yield from _abstract(each, path) if hasattr(each, "letter") else ()
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
    yield from _without_module(module, sublayer.modules, sublayer.entry, folder, files)


def _defined_in(module: ModuleType, base: type) -> list[type]:
    own = [each for each in vars(module).values() if isinstance(each, type) and each.__module__ == module.__name__]
    return [each for each in own if issubclass(each, base)]


def _without_kind(module: ModuleType, axis: type[OpenOption], files: Mapping[str, Path]) -> Iterator[str]:
    """Yield the classes that would be options but for a kind, in a file that no other file of the plugin imports."""
    name, path = module.__name__.rpartition(".")[2], files[module.__name__]
    others = [each for each in files if each.startswith(DECLARED) and each != module.__name__]
    if name.startswith("_") or any(module.__name__ in imported_names(each, files[each]) for each in others):
        return  # it holds what options share
    for each in _defined_in(module, axis):
        line, written = _line_of_class(each, path), f'kind: Literal["{name}"] = "{name}"'
        yield f"{path}:{line}: {each.__name__} has no kind, so nothing can choose it; write {written}"


def _changeable(option: type[OpenOption], path: Path) -> Iterator[str]:
    """Yield the fields that hold lists or sets: options are compared by their hashes, which these do not have."""
    for name, field in option.model_fields.items():
        if (kind := get_origin(field.annotation) or field.annotation) in FROZEN:
            yield f"{path}:{_line_of_class(option, path)}: {option.__name__}: {name} holds {FROZEN[kind]}"


def _line_of_class(option: type, path: Path) -> int:
    nodes = ast.parse(read_regular(path)).body
    return next(each.lineno for each in nodes if isinstance(each, ast.ClassDef) and each.name == option.__name__)


def _abstract(option: type, path: Path) -> Iterator[str]:
    """Yield what a class lacks of the methods and properties that every option of its axis has."""
    missing = sorted(getattr(option, "__abstractmethods__", ()))
    if missing:
        own = [name for name in vars(option) if not (name.startswith("_") or hasattr(option.__base__, name))]
        meant = {name: closest(name, own) for name in missing}
        hint = "".join(f"; its {other} is not {name}" for name, other in meant.items() if other)
        yield f"{path}:{_line_of_class(option, path)}: {option.__name__} lacks {', '.join(missing)}{hint}"


def _without_module(
    module: ModuleType, package: str, entry: str, folder: Path, files: Mapping[str, Path]
) -> Iterator[str]:
    """Yield why a declaration has nothing that builds it: no file, or a file without the name that is looked for."""
    needed = f"{package}.{module.__name__.rpartition('.')[2]}"
    if needed not in files:
        place = place_of(needed).with_suffix(".py")
        yield f"{files[module.__name__]}: an option without its module; {folder / place} is needed"
        return
    try:
        names = [*_bound(ast.parse(read_regular(files[needed])).body)]
    except (SyntaxError, ValueError):
        return  # which has a line of its own
    if entry not in names:
        yield f"{files[needed]}: it has no {entry}, which builds the option{did_you_mean(entry, names, '. ')}"


def _bound(statements: Iterable[ast.stmt]) -> Iterator[str]:
    """Yield the names that a module's text binds: classes, functions, assigned and imported names."""
    for statement in statements:
        for node in ast.walk(statement):
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                yield node.name
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id
            elif isinstance(node, ast.alias):
                yield (node.asname or node.name).partition(".")[0]


def _line(error: BaseException, path: Path) -> int:
    """Return the line of the file at which an import failed."""
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return error.lineno or 1
    frames = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    return (frames[-1] if frames else None) or 1


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0]

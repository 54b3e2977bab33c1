"""The factories of modules that a file may name: functions and classes of plugins, and of packages of the user.

A file is data, and a name in it must not run the code of others: the standard library has functions that start a
shell, torch.hub has one that downloads. Whether a factory is allowed, and of which files its module is made, is
decided on their text, before anything is imported.
"""

import ast
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from inspect import isclass, isfunction
from pathlib import Path
from sysconfig import get_path
from typing import Any

from steeplechase.foundation.atomic_files import read_regular, sha256_of
from steeplechase.foundation.canonical import fingerprint
from steeplechase.foundation.errors import ConfigurationError
from steeplechase.foundation.option_modules import imported_name
from steeplechase.foundation.plugin_code import PLUGIN_FILES
from steeplechase.foundation.schema import options_changed

FLAG = "--factories-of"
PACKAGES: list[str] = []
"""Packages and modules outside plugins whose factories are allowed, as the user has named them."""
INSTALLED = ("site-packages", "dist-packages", Path(get_path("stdlib")).name)
"""The names of folders of installed packages, which change with their version and not by an edit."""


class RefusedFactory(ConfigurationError):
    """A factory is not one that the file may name; one line."""


def allow_packages(names: Sequence[str]) -> None:
    """Allow the factories of these packages and modules, and of no others outside plugins.

    Raises ConfigurationError, and then changes nothing, for a name that is no module's or that is of the standard
    library.
    """
    mistakes = []
    for name in names:
        if not all(part.isidentifier() for part in name.split(".")):
            mistakes.append(f"{FLAG} {name!r}: not the name of a package, such as my_package or my_package.models")
        elif _of_standard_library(name):
            mistakes.append(f"{FLAG} {name}: the standard library has no factories that a file may name")
    if mistakes:
        raise ConfigurationError(mistakes)
    if [*names] != PACKAGES:
        PACKAGES[:] = names
        options_changed()  # what was counted, and what was refused


def factory_module(factory: str) -> str:
    """Return the name under which the module of a factory is imported; a plugin's is written as in its folder."""
    written = factory.partition(":")[0]
    return inside if (inside := imported_name(written)) in PLUGIN_FILES else written


def refusal(factory: str) -> str | None:
    """Return why a factory `module:function` may not be called, None if it may; imports nothing."""
    module, name = factory_module(factory), factory.partition(":")[2]
    try:
        file = _allowed_file(module)
        defined = name in _definitions(ast.parse(read_regular(file), file).body)
    except (ConfigurationError, OSError, SyntaxError, ValueError, RecursionError) as error:
        return f"{factory}: {str(error).partition(chr(10))[0]}"
    if not defined:
        return f"{factory}: {file} has no `def {name}` or `class {name}`; an imported or assigned name is no factory"
    return None


def factory_of(factory: str) -> Callable[..., Any]:
    """Return the function or class that a factory names. Raises RefusedFactory, before anything else is called."""
    if reason := refusal(factory):
        raise RefusedFactory(reason)
    module, name = factory_module(factory), factory.partition(":")[2]
    found = vars(import_module(module)).get(name)
    if not (isfunction(found) or isclass(found)) or found.__module__ != module:
        raise RefusedFactory(f"{factory}: not a function or a class that {module} defines")
    return found


def _allowed_file(module: str) -> Path:
    """Return the file of a module whose factories are allowed. Raises ConfigurationError."""
    if _of_standard_library(module):
        raise ConfigurationError(f"{module} is of the standard library; a factory is of a plugin that the file lists")
    if module in PLUGIN_FILES:
        return PLUGIN_FILES[module]
    if not any(module == each or module.startswith(f"{each}.") for each in PACKAGES):
        named = f"or of a package that {FLAG} names on the command line"
        raise ConfigurationError(f"{module} is not allowed; a factory is of a plugin that the file lists, {named}")
    return file_of(module)


def _of_standard_library(module: str) -> bool:
    return module.partition(".")[0] in {*sys.stdlib_module_names, *sys.builtin_module_names, "__main__"}


def _definitions(statements: Iterable[ast.stmt]) -> Iterator[str]:
    """Yield the functions and classes that a module defines, under its conditions too."""
    for each in statements:
        if isinstance(each, ast.FunctionDef | ast.ClassDef):
            yield each.name
        elif isinstance(each, ast.If | ast.Try):
            yield from _definitions([*each.body, *each.orelse])
            for handler in each.handlers if isinstance(each, ast.Try) else ():
                yield from _definitions(handler.body)


def source_hash(module: str) -> str:
    """Return the hash of a module of the user's: its file, and what it imports from the same folder of packages.

    Of a module that is installed, only its own file. Raises ConfigurationError if there is no such module.
    """
    file = file_of(module)
    root = file.parents[len(_package(module, file))]
    if root.name in INSTALLED:
        return sha256_of(file)
    files = {module: file}
    waiting = [*_with_packages(module.split(".")), *imported_names(module, file)]
    while waiting:
        each = waiting.pop()
        found = _file_under(root, each)
        if found is not None and each not in files:
            files[each] = found
            waiting += imported_names(each, found)
    hashes = {each: sha256_of(found) for each, found in files.items()}
    return hashes[module] if len(hashes) == 1 else fingerprint({**hashes})


def file_of(module: str) -> Path:
    """Return the file of a module, without importing it. Raises ConfigurationError if there is none."""
    top, *below = module.split(".")
    spec = find_spec(top)
    folders = [*(spec.submodule_search_locations or ())] if spec is not None else []
    places = [found for folder in folders if below and (found := _file_under(Path(folder), ".".join(below)))]
    if not below and spec is not None and spec.origin is not None:
        places.append(Path(spec.origin))
    if not places or not places[0].is_file():
        raise ConfigurationError(f"{module}: no such module; a factory is in a plugin, or in an installed package")
    return places[0]


def imported_names(module: str, file: Path) -> Iterator[str]:
    """Yield the names that a file imports: modules, their packages, and names inside modules."""
    package = _package(module, file)
    try:
        tree = ast.parse(read_regular(file))
    except (SyntaxError, ValueError):  # no Python of this version, or compiled
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _with_packages(alias.name.split("."))
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            origin = [*above, *(node.module.split(".") if node.module else [])]
            yield from _with_packages(origin)
            yield from (".".join([*origin, alias.name]) for alias in node.names)


def _with_packages(parts: Sequence[str]) -> Iterator[str]:
    """Yield a module after the packages that it is in, which its import runs too."""
    return (".".join(parts[:depth]) for depth in range(1, len(parts) + 1))


def _package(module: str, file: Path) -> list[str]:
    """Return the package that relative imports of a module start from."""
    parts = module.split(".")
    return parts if file.name == "__init__.py" else parts[:-1]


def _file_under(folder: Path, module: str) -> Path | None:
    """Return the file of a module below a folder, None if there is none."""
    place = folder.joinpath(*module.split("."))
    return next((file for file in (place.with_suffix(".py"), place / "__init__.py") if file.is_file()), None)

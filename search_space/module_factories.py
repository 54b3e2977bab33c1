"""The factories that a file may name: functions and classes of plugins, and of packages that the user names.

A file is data, and a name in it must not run the code of others: the standard library has functions that start a
shell, torch.hub has one that downloads. Whether a factory is allowed is decided on the text of its module, before
anything is imported.

The files that a module is made of: its own and those that it imports, read without importing anything.

Counts of a module that a factory builds: by a child process, because declarations import no torch.

In a process that has imported torch already, it counts itself.
"""

import ast
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from inspect import isclass, isfunction
from pathlib import Path
from sysconfig import get_path
from threading import Event, Timer
from typing import IO, Any

from steeplechase.foundation.atomic_files import read_regular, sha256_of
from steeplechase.foundation.canonical import fingerprint
from steeplechase.foundation.child_process import import_path, module_command
from steeplechase.foundation.errors import ConfigurationError
from steeplechase.foundation.option_modules import imported_name
from steeplechase.foundation.schema import cached_until_options_change, options_changed

INSTALLED = ("site-packages", "dist-packages", Path(get_path("stdlib")).name)
"""The names of folders of installed packages, which change with their version and not by an edit."""


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


FLAG = "--factories-of"
PLUGIN_FILES: dict[str, Path] = {}
"""The file of every module of the loaded plugins; the plugin loader keeps it."""
PACKAGES: list[str] = []
"""Packages and modules outside plugins whose factories are allowed, as the user has named them."""


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


COUNTING = "runners.count_module"
"""The module that builds and counts, above this layer and thus named, not imported."""
PLUGINS: list[tuple[str, str]] = []
"""Folder and sha256 of the plugins that the child process loads; the plugin loader keeps it."""


class ModuleFault(ConfigurationError):
    """A module cannot be built or counted; one line for the user."""


@dataclass(frozen=True)
class Counts:
    """What was counted on the built module."""

    parameters: int
    """An output table for masked language modelling included, if the module has no token embeddings."""
    forward_flops: int
    """By torch's counter, of one sequence of the length that was asked for."""
    saved_activations: int
    """Values per token kept for the backward pass."""
    width: int
    embedding_width: int | None
    """Channels of the module's token embeddings; None without any."""
    token_embeddings: int | None
    """Number of token embeddings; None where the module has no such table."""


@cached_until_options_change
def counted(factory: str, architecture: str, length: int) -> Counts:
    """Return the counts of an architecture, given as JSON, on a sequence. Raises ModuleFault.

    Nothing is imported for a factory that is not allowed.
    """
    if reason := refusal(factory):
        raise ModuleFault(reason)
    if "torch" in sys.modules:
        answer = import_module(COUNTING).answer(architecture, length)
    else:
        answer = _asked({"factory": factory, "architecture": architecture, "length": length})
    if "error" in answer:
        raise ModuleFault(str(answer["error"]))
    return Counts(**answer)


LONGEST_SECONDS = 120.0
"""For an answer; the first one includes the import of torch."""
_CHILD: list["subprocess.Popen[str]"] = []


def _asked(request: dict[str, object]) -> dict[str, object]:
    """Return the child's answer to a request; it starts with the first one and ends with this process.

    Raises ModuleFault if it ends without an answer, or has none in time.
    """
    if not _CHILD or _CHILD[0].poll() is not None:
        environment = {**os.environ, **import_path(), "OMP_NUM_THREADS": "1"}
        command = module_command(COUNTING)
        _CHILD[:] = [
            subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, bufsize=1
            )
        ]
    (child,) = _CHILD
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write(json.dumps({**request, "plugins": PLUGINS, "packages": PACKAGES}) + "\n")
    line = _line_in_time(child, child.stdout)
    if line is None:
        raise ModuleFault(
            f"{request['factory']}: not built and counted in {LONGEST_SECONDS:g} s; its code may not end"
        )
    if not line:
        raise ModuleFault(f"the process that builds the module ended with code {child.wait()}")
    answer: dict[str, object] = json.loads(line)
    return answer


def _line_in_time(child: "subprocess.Popen[str]", lines: IO[str]) -> str | None:
    """Return the next line of a process, empty if that ended; None if it had to be killed, since it took too long."""
    late = Event()

    def end() -> None:
        late.set()
        child.kill()

    limit = Timer(LONGEST_SECONDS, end)
    limit.start()
    line = lines.readline()
    limit.cancel()
    return None if late.is_set() and not line else line

"""The files that a module is made of: its own and those that it imports, read without importing anything."""

import ast
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from sysconfig import get_path

from steeplechase.foundation.atomic_files import read_regular, sha256_of
from steeplechase.foundation.canonical import fingerprint
from steeplechase.foundation.errors import ConfigurationError

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

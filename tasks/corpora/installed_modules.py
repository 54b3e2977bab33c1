"""Which Python modules are installed here: the standard library and a closure of distributions, as file paths."""

import functools
import importlib.metadata
import os
import re
import sysconfig
from collections.abc import Iterable
from pathlib import Path

from search_space.refusals import EnvironmentRefused

OWN_DISTRIBUTION = "steeplechase"

_SKIPPED_FOLDERS = re.compile(
    r"(.*_)?tests?|testing|idle_test|site-packages|dist-packages|__pycache__|_?vendor(ed)?|_vendored_packages"
    r"|_?extern(al)?s?|third_?party(_files)?|lib2to3|.*[^A-Za-z0-9_].*"
)
_SKIPPED_FILES = re.compile(r"test_.*|.*_test|conftest|.*_pb2(_grpc)?|.*[^A-Za-z0-9_].*")

Closure = dict[str, importlib.metadata.Distribution]


def runtime_closure(roots: tuple[str, ...] | None) -> Closure:
    """Return the distributions named and all they require here, by normal name, sorted.

    With None the closure is that of Steeplechase itself, its own code left out: editing it must not change a
    corpus. Raises EnvironmentRefused if a root is not installed. Requirements under an extra are followed only
    where a requirement asks for that extra.
    """
    found: Closure = {}
    followed: set[tuple[str, str]] = set()
    pending = [(name, "") for name in (roots or (OWN_DISTRIBUTION,))]
    for name, _ in pending:
        _require_installed(name)
    while pending:
        name, extra = pending.pop()
        if (_normal(name), extra) in followed:
            continue
        followed.add((_normal(name), extra))
        distribution = _distribution(name)
        if distribution is not None:
            found[_normal(name)] = distribution
            pending += _requirements(distribution, extra)
    if roots is None:
        del found[OWN_DISTRIBUTION]
    return dict(sorted(found.items()))


def _require_installed(name: str) -> None:
    if _distribution(name) is None:
        command = "pip install -e ." if name == OWN_DISTRIBUTION else f"pip install {name}"
        raise EnvironmentRefused(
            f"documentation corpus: the distribution {name!r} is not installed in this Python; run: {command}"
        )


@functools.cache
def _distribution(name: str) -> importlib.metadata.Distribution | None:
    try:
        return importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _requirements(distribution: importlib.metadata.Distribution, extra: str) -> list[tuple[str, str]]:
    from packaging.requirements import Requirement

    needed = []
    for line in distribution.requires or ():
        requirement = Requirement(line)
        if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
            needed += [(requirement.name, asked) for asked in ("", *sorted(requirement.extras))]
    return needed


def module_files(distributions: Iterable[importlib.metadata.Distribution]) -> dict[str, Path]:
    """Return the Python files of the standard library and the distributions by dotted module name, sorted.

    Left out: tests, vendored copies, generated protocol buffers, and names that are no Python module.
    """
    files = _standard_library()
    for distribution in distributions:
        for entry in distribution.files or ():
            module = _module_name(entry.parts)
            if module is not None:
                files[module] = Path(str(distribution.locate_file(entry)))
    return dict(sorted(files.items()))


def _standard_library() -> dict[str, Path]:
    root = Path(sysconfig.get_path("stdlib"))
    files: dict[str, Path] = {}
    for folder, subfolders, names in os.walk(root):
        subfolders[:] = sorted(name for name in subfolders if not _SKIPPED_FOLDERS.fullmatch(name))
        for name in names:
            path = Path(folder, name)
            module = _module_name(path.relative_to(root).parts)
            if module is not None:
                files[module] = path
    return files


def _module_name(parts: tuple[str, ...]) -> str | None:
    *folders, file_name = parts
    stem, suffix = os.path.splitext(file_name)  # noqa: PTH122 - hundreds of thousands of names; Path is slow
    if suffix != ".py" or _SKIPPED_FILES.fullmatch(stem):
        return None
    if any(_SKIPPED_FOLDERS.fullmatch(folder) for folder in folders):
        return None
    return ".".join(folders if stem == "__init__" and folders else [*folders, stem])

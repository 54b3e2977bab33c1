"""Installed Python modules: the standard library and a dependency closure of distributions, as hashed files.

A distribution's RECORD holds the sha256 of every installed file (PEP 376; packaging.python.org, "Recording
installed projects"), so that the content is identified without reading it and verified when it is read.
"""

import csv
import functools
import hashlib
import importlib.metadata
import os
import re
import sysconfig
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from steeplechase.foundation.errors import MachineError

OWN_DISTRIBUTION = "steeplechase"

_SKIPPED_FOLDERS = re.compile(
    r"(.*_)?tests?|testing|idle_test|site-packages|dist-packages|__pycache__|_?vendor(ed)?|_vendored_packages"
    r"|_?extern(al)?s?|third_?party(_files)?|lib2to3|.*[^A-Za-z0-9_].*"
)
_SKIPPED_FILES = re.compile(r"test_.*|.*_test|conftest|.*_pb2(_grpc)?|.*[^A-Za-z0-9_].*")

_FIELD = re.compile(r"^(Version|Requires-Dist):[ \t]*(.*)$", re.MULTILINE | re.IGNORECASE)
"""A field of METADATA that is read; it ends on its line (packaging.python.org, "Core metadata")."""

Closure = dict[str, importlib.metadata.Distribution]


def runtime_closure(roots: tuple[str, ...] | None) -> Closure:
    """Return the distributions and all their requirements, by normalised name, sorted.

    None means the requirements of Steeplechase, without its own code, because editing it must not change a
    corpus. Raises MachineError if a root is not installed. Requirements under an extra are followed only
    where a requirement asks for that extra.
    """
    distributions: Closure = {}
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
            distributions[_normal(name)] = distribution
            pending += _requirements(distribution, extra)
    if roots is None:
        del distributions[OWN_DISTRIBUTION]
    return dict(sorted(distributions.items()))


def _require_installed(name: str) -> None:
    if _distribution(name) is None:
        command = "pip install -e ." if name == OWN_DISTRIBUTION else f"pip install {name}"
        raise MachineError(
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


class _Metadata(NamedTuple):
    version: str
    requires: tuple[str, ...]


@functools.cache
def _metadata(distribution: importlib.metadata.Distribution) -> _Metadata:
    """Return the two fields of METADATA; importlib would parse all of it, with the description, at every call."""
    text = distribution.read_text("METADATA")
    if text is None:  # not installed from a wheel
        return _Metadata(distribution.version, tuple(distribution.requires or ()))
    fields = _FIELD.findall(text.partition("\n\n")[0])
    version = next(value for name, value in fields if name.lower() == "version")
    return _Metadata(version, tuple(value for name, value in fields if name.lower() == "requires-dist"))


def version_of(distribution: importlib.metadata.Distribution) -> str:
    """Return a distribution's version."""
    return _metadata(distribution).version


@functools.cache
def _requirements(distribution: importlib.metadata.Distribution, extra: str) -> list[tuple[str, str]]:
    from packaging.requirements import Requirement

    needed = []
    for line in _metadata(distribution).requires:
        other_extra = not extra or _normal(extra) not in _normal(line)
        if "extra ==" in line and " or " not in line and other_extra:
            continue  # parsing is slow
        requirement = Requirement(line)
        if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
            needed += [(requirement.name, extra_name) for extra_name in ("", *sorted(requirement.extras))]
    return needed


class ModuleFile(NamedTuple):
    """An installed Python file."""

    path: str
    hash: str
    """In the format of RECORD: `sha256=` and the digest in URL-safe base64 without padding."""
    owner: str
    """The distribution and its version, or the standard library."""

    def read(self) -> bytes:
        """Return the content. Raises MachineError if it cannot be read or differs from its hash."""
        content = _content(Path(self.path), self.owner)
        if _hash(content) != self.hash:
            message = f"differs from what {self.owner} installed; reinstall it, since its hash identifies the corpus"
            raise MachineError(f"{self.path}: {message}")
        return content


Modules = Mapping[str, ModuleFile]
"""By dotted module name."""


def standard_library() -> Modules:
    """Return the modules of the standard library, which has no RECORD, so files are hashed. Raises MachineError."""
    root, owner = sysconfig.get_path("stdlib"), "Python"
    modules: dict[str, ModuleFile] = {}
    for folder, subfolders, names in os.walk(root, onerror=_refuse):
        subfolders[:] = sorted(name for name in subfolders if not _SKIPPED_FOLDERS.fullmatch(name))
        parent = os.path.relpath(folder, root).replace(os.sep, "/").removeprefix(".")
        for name in names:
            module = _module_name(f"{parent}/{name}" if parent else name)
            if module is not None:
                path = Path(folder, name)
                modules[module] = ModuleFile(str(path), _hash(_content(path, owner)), owner)
    return modules


def modules_of(name: str, distribution: importlib.metadata.Distribution) -> Modules:
    """Return the modules of a distribution of that name.

    Skipped, as in the standard library: tests, vendored copies, generated protocol buffers, and names that are not
    Python modules. A file without a recorded hash is read; raises MachineError if that fails.
    """
    root, owner = str(distribution.locate_file("")), f"{name} {version_of(distribution)}"
    modules: dict[str, ModuleFile] = {}
    for file, recorded in _recorded(distribution):
        module = _module_name(file)
        if module is not None:
            path = f"{root}/{file}"
            known = recorded if recorded.startswith("sha256=") else _hash(_content(Path(path), owner))
            modules[module] = ModuleFile(path, known, owner)
    return modules


def content_of(modules: Modules) -> str:
    """Return the sha256 over the names and hashes of modules, independent of paths."""
    lines = "".join(f"{name} {modules[name].hash}\n" for name in sorted(modules))
    return hashlib.sha256(lines.encode()).hexdigest()


def content_of_distribution(name: str, distribution: importlib.metadata.Distribution) -> str:
    """Return `content_of` the modules of a distribution of that name; of a RECORD with every hash, read once."""
    return _recorded_content(name, distribution) or content_of(modules_of(name, distribution))


@functools.cache
def _recorded_content(name: str, distribution: importlib.metadata.Distribution) -> str:
    """Return the content by the RECORD alone; empty where a module has no hash there, since its file may change."""
    hashes = (recorded for file, recorded in _recorded(distribution) if _module_name(file) is not None)
    recorded = all(each.startswith("sha256=") for each in hashes)
    return content_of(modules_of(name, distribution)) if recorded else ""


def _recorded(distribution: importlib.metadata.Distribution) -> Iterator[tuple[str, str]]:
    """Yield the name and the hash of each file; without a RECORD, from the lists of other installers."""
    record = distribution.read_text("RECORD")
    if record is None:
        for entry in distribution.files or ():
            yield entry.as_posix(), ""
        return
    for row in csv.reader(line for line in record.splitlines() if ".py" in line and ".pyc" not in line):
        if row[0].endswith(".py"):
            yield row[0], row[1] if len(row) > 1 else ""


def _content(path: Path, owner: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        message = f"of {owner}, cannot be read ({error.strerror}); if it is missing, reinstall the distribution"
        raise MachineError(f"{path}: {message}") from error


def _hash(content: bytes) -> str:
    return f"sha256={urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip('=')}"


def _refuse(error: OSError) -> None:
    raise MachineError(f"{error.filename}: cannot be read ({error.strerror})") from error


def _module_name(file: str) -> str | None:
    """Return the dotted name of a file by its path from where modules are found, None if it is skipped."""
    folder, _, name = file.rpartition("/")
    package, module = _package(folder), _module(name)
    if package is None or module is None:
        return None
    if not package:
        return module
    return package if module == "__init__" else f"{package}.{module}"


@functools.cache
def _module(name: str) -> str | None:
    """Return the name of a file without its suffix, None if it is skipped; most names occur in many packages."""
    stem = name.removesuffix(".py")
    return None if stem == name or _SKIPPED_FILES.fullmatch(stem) else stem


@functools.cache
def _package(folder: str) -> str | None:
    """Return the dotted name of a folder, None if its files are skipped."""
    parts = folder.split("/") if folder else []
    return None if any(map(_SKIPPED_FOLDERS.fullmatch, parts)) else ".".join(parts)

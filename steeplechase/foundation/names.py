"""Names and digests that data gives: checked where they are parsed, and again where a name is joined to a folder.

A name is a relative POSIX path (CWE-22, path traversal): no root, no `.` or `..`, no empty part, no backslash, no
drive letter, no control character. No symbolic link below the folder is followed (CWE-59).
"""

import os
import re
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator

from steeplechase.foundation.atomic_files import disk_refusals
from steeplechase.foundation.errors import CorruptionError, MachineError

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_DRIVE = re.compile(r"[A-Za-z]:")
_DIGEST = re.compile(r"[0-9a-f]{64}")
SHOWN_CHARACTERS = 80


def relative_name(name: str) -> str:
    """Return the name. Raises ValueError unless it is a relative POSIX path of plain parts."""
    if "\\" in name or _DRIVE.match(name) or _CONTROL.search(name) or {"", ".", ".."} & {*name.split("/")}:
        raise ValueError(
            f"{name[:SHOWN_CHARACTERS]!a} is not a relative path such as part/file.npy, without . and .."
        )
    return name


RelativeName = Annotated[str, AfterValidator(relative_name)]
"""A file's name below a folder: a relative POSIX path of plain parts."""


def checked_sha256(digest: str) -> str:
    """Return the digest. Raises ValueError unless it is 64 lowercase hexadecimal digits."""
    if _DIGEST.fullmatch(digest) is None:
        raise ValueError(f"{digest[:SHOWN_CHARACTERS]!a} is not a digest of 64 lowercase hexadecimal digits")
    return digest


Sha256 = Annotated[str, AfterValidator(checked_sha256)]
"""A digest: 64 lowercase hexadecimal digits."""


def inside(folder: Path, name: str) -> Path:
    """Return the path of a name in a folder.

    Raises CorruptionError unless the name is a relative one, MachineError if a part of it is a symbolic link.
    """
    try:
        path = folder / relative_name(name)
    except ValueError as wrong:
        raise CorruptionError(f"{folder}: {wrong}") from wrong
    if Path(os.path.realpath(path)) != Path(os.path.realpath(folder), name):
        raise MachineError(f"{path}: a symbolic link is on this path, and none is followed here; move it away")
    return path


def make_inside(folder: Path, name: str) -> Path:
    """Create a folder below another one, and return it. Raises what `inside` raises, MachineError if it fails."""
    path = inside(folder, name)
    with disk_refusals(path):
        path.mkdir(parents=True, exist_ok=True)
    return path


def refuse_links(folder: Path) -> None:
    """Raise MachineError if there is a symbolic link in a folder, at any depth."""
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            inside(folder, Path(place, name).relative_to(folder).as_posix())

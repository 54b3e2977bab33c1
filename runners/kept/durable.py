"""Files that are on the disk, and are what was written: the two questions that crash safety asks of them."""

import hashlib
import os
from pathlib import Path


def flush(path: Path) -> None:
    """Put a file, or a folder's list of names, on the disk; on return it survives a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sha256_of(path: Path) -> str:
    """Return the sha256 of a file's bytes as 64 hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

"""What sources of mentions that are one file share: its path, its identity, its existence."""

from pathlib import Path
from typing import ClassVar

from pydantic import Field

from steeplechase.foundation.atomic_files import sha256_of
from steeplechase.foundation.errors import DataError
from steeplechase.foundation.schema import VARIANT_KEY, JsonValue
from steeplechase.tasks.data_folder import missing, resolved
from steeplechase.tasks.mentions.mention import MentionSource


class MentionsOfFile(MentionSource):
    """Mentions that are read from a file, perhaps .gz or .xz."""

    wanted: ClassVar[str]
    """The layout of the file, for messages."""
    reading_version: ClassVar[int]
    """Incremented when the same file gives other mentions."""

    path: str = Field(min_length=1)
    """The file, in the layout of its `kind`.

    `$STEEPLECHASE_DATA` at its beginning is the folder of published data sets, `data` where the variable is unset.
    """

    def inputs(self) -> JsonValue:
        """Return the sha256 of the file; raises DataError if it cannot be read."""
        identity = {VARIANT_KEY: getattr(self, VARIANT_KEY), "reading_version": self.reading_version}
        return {**identity, "sha256": file_hash(self.file)}

    def check_exists(self) -> None:
        """Raise DataError if the file is missing."""
        _ = self.file

    @property
    def file(self) -> Path:
        """The file. Raises DataError if it is missing."""
        return located(self.path, self.wanted)


def located(path: str, wanted: str) -> Path:
    """Return a declared file. Raises DataError, which says what is wanted, if there is none."""
    found = resolved(path)
    if not found.is_file():
        raise missing(f"{found}: no such file; {wanted}")
    return found


def file_hash(path: Path) -> str:
    """Return the sha256 of a file. Raises DataError if it cannot be read."""
    try:
        return sha256_of(path)
    except OSError as failure:
        raise DataError(f"{path}: {failure.strerror}") from failure

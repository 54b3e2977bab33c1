"""The registry of published data sets, `data_sets.toml`: source, licence and, of every file, size and sha256."""

import hashlib
import json
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import Field, TypeAdapter

from steeplechase.foundation.names import RelativeName, Sha256
from steeplechase.foundation.schema import Count, Schema
from steeplechase.tasks.data_folder import FETCHED
from steeplechase.tasks.hub_client import Commit

FILE = Path(__file__).with_name("data_sets.toml")


class RegisteredFile(Schema):
    """One file of a data set."""

    path: RelativeName
    """Relative to the data folder."""
    bytes: Count
    sha256: Sha256
    found_in: str | None = None
    """The GitHub repository of the measured copy, if known."""


class HubSource(Schema):
    """Location of a data set on the Hugging Face hub."""

    name: str
    revision: Commit
    configuration: str
    splits: tuple[str, ...] = Field(min_length=1)


class DataSet(Schema):
    """One published data set; its key in the registry is the name of its task, if it has one."""

    kind: Literal["task", "predictions", "corpus", "vocabulary", "lexicon", "curves"]
    """Its use in an experiment."""
    title: str
    source: str
    """Address of the publication."""
    licence: str | None = None
    """None if unknown."""
    note: str | None = None
    """Differences from the official files."""
    hub: HubSource | None = None
    """Location for `data fetch`; None if it cannot be fetched."""
    further_tasks: tuple[str, ...] = ()
    """Tasks beside that of its key that read the same files."""
    files: tuple[RegisteredFile, ...] = Field(min_length=1)

    @property
    def size(self) -> int:
        """Return the bytes of all files."""
        return sum(file.bytes for file in self.files)

    @property
    def sha256(self) -> str:
        """Return the file's sha256; for several files, the sha256 of the output of `sha256sum` sorted by path."""
        if len(self.files) == 1:
            return self.files[0].sha256
        lines = sorted((file.path, f"{file.sha256}  {file.path}\n") for file in self.files)
        return hashlib.sha256("".join(line for _, line in lines).encode()).hexdigest()

    def fetched_in(self, folder: Path) -> Path | None:
        """Return the target folder of `fetch` in a data folder; None if the data set cannot be fetched."""
        return None if self.hub is None else folder / FETCHED / self.hub.configuration


@cache
def data_sets() -> Mapping[str, DataSet]:
    """Return every registered data set by name."""
    document = json.dumps(tomllib.loads(FILE.read_text(encoding="utf-8")))
    return TypeAdapter(dict[str, DataSet]).validate_json(document)

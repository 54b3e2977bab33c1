"""Published tasks as `steeplechase data fetch` writes them: a folder per configuration, a Parquet file per split."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from steeplechase.foundation.atomic_files import sha256_of
from steeplechase.foundation.errors import DataError
from steeplechase.foundation.schema import JsonValue
from steeplechase.tasks.data_folder import missing
from steeplechase.tasks.hub_client import split_of_file
from steeplechase.tasks.labelled.task import Part, TaskFiles, Version
from steeplechase.tasks.splits import LoadedSplit
from steeplechase.tasks.squad.questions import SquadFile
from steeplechase.tasks.squad.rows import read_rows

WANTED_BY = "a fetched data set"


@dataclass(frozen=True)
class FetchedTasks:
    """The folder of fetched data sets; reading them needs the extra `datasets`."""

    root: Path

    def has(self, files: TaskFiles) -> bool:
        """Return whether a configuration of the task is there."""
        return any((self.root / split.configuration).is_dir() for split in files.splits.values())

    def inputs(self, files: TaskFiles) -> JsonValue:
        """Return the sha256 of every split's file by part; raises DataError if a required one is missing."""
        return {part: {path.name: hash_of(path)} for part, path in self.located(files).items()}

    def located(self, files: TaskFiles) -> Mapping[str, Path]:
        """Return the file of every existing part; raises DataError if a required one is missing."""
        paths = {part: self.root / f"{split}.parquet" for part, split in files.splits.items()}
        absent = [str(files.splits[part]) for part in files.needed if not paths[part].is_file()]
        if absent:
            raise missing(f"{self.root}: no files of {' and '.join(absent)}; fetch them again")
        return {part: path for part, path in paths.items() if path.is_file()}

    def parts(self, files: TaskFiles) -> dict[str, Part]:
        """Return the examples of every existing part; raises DataError and MachineError."""
        assert files.read_split is not None
        return {
            part: files.read_split(part, self._loaded(files, part), str(files.splits[part]))
            for part in self.located(files)
        }

    def questions(self, files: TaskFiles, part: str, version: Version) -> SquadFile:
        """Return SQuAD's questions of a required part; raises DataError and MachineError."""
        return read_rows(self._loaded(files, part), version, f"{self.root} {files.splits[part]}")

    def _loaded(self, files: TaskFiles, part: str) -> LoadedSplit:
        return split_of_file(self.located(files)[part], files.splits[part], WANTED_BY)


def hash_of(path: Path) -> str:
    """Return the sha256 of a file. Raises DataError if it cannot be read."""
    try:
        return sha256_of(path)
    except OSError as failure:
        raise DataError(f"{path}: {failure.strerror}") from failure

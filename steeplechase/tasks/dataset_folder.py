"""The source of published tasks: a folder in the official layout, or with what `steeplechase data fetch` wrote."""

import stat
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from steeplechase.foundation.errors import DataError
from steeplechase.foundation.schema import JsonValue, Schema
from steeplechase.tasks.data_folder import FETCHED, file_hash, missing, resolved
from steeplechase.tasks.hub_client import split_of_file
from steeplechase.tasks.labelled.task import Part, TaskFiles, Version, folder_within
from steeplechase.tasks.splits import LoadedSplit
from steeplechase.tasks.squad.questions import SquadFile, read_rows, read_squad

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
        return {part: {path.name: file_hash(path)} for part, path in self.located(files).items()}

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


def origin_of(files: TaskFiles) -> str:
    """Return the required files of a task and their origin, for messages."""
    names = ", ".join(dict.fromkeys(f"{files.folder}/{files.parts[part]}" for part in files.needed))
    return f"expected: {names}, from {files.origin}"


class FolderOfTasks(Schema):
    """A folder with one folder per task, in the layout of GLUE's download script; or one task's own folder.

    Or a folder that contains such folders, `glue` and `squad`, so that one path serves both.
    """

    kind: Literal["folder"] = "folder"
    """Chooses the official files; a plain text in place of the mapping is the folder's path."""
    path: str = Field(min_length=1, examples=["data/published"])
    """A folder in the layout of GLUE's download, a task's own folder, or one that holds `glue` and `squad`.

    `$STEEPLECHASE_DATA` at its beginning is the folder of published data sets, `data` where the variable is unset.
    A task without official files there is read from what `steeplechase data fetch` has written to it.
    """

    def inputs(self, files: TaskFiles) -> JsonValue:
        """Return the sha256 of every file of the task by its part; raises DataError as `located` does."""
        fetched = self._fetched(files)
        if fetched is not None:
            return fetched.inputs(files)
        located = self.located(files)
        hashes: dict[str, JsonValue] = {part: file_hash(path) for part, path in located.items()}
        beside = {part: path.with_name(files.beside[part]) for part, path in located.items() if part in files.beside}
        hashes |= {f"{part}, {path.name}": file_hash(path) for part, path in beside.items()}
        if not files.siblings:
            return hashes
        for part, first in located.items():
            hashes |= {f"{part}, {each.name}": file_hash(each) for each in _matching(first.parent, files.siblings)}
        return hashes

    def located(self, files: TaskFiles) -> Mapping[str, Path]:
        """Return the official file of each existing part; none if the task is read from fetched files.

        Raises DataError, with the required files and their origin, if one is missing or ambiguous.
        """
        root = resolved(self.path)
        if not root.is_dir():
            raise missing(f"{root}: no such folder; {origin_of(files)}")
        if (fetched := self._fetched(files)) is not None:
            fetched.located(files)
            return {}
        folder = folder_within(root, files.folder, files.collection)
        by_part = _parts_in(folder, files)
        absent = dict.fromkeys(files.parts[part] for part in files.needed if not by_part[part])
        present = [part for part in files.beside if by_part[part] or part in files.needed]
        beside = {files.beside[part]: (folder / files.parts[part]).with_name(files.beside[part]) for part in present}
        absent |= dict.fromkeys(name for name, path in beside.items() if not path.is_file())
        if absent:
            raise missing(f"{folder}: no {' and no '.join(absent)}; {origin_of(files)}")
        return {part: _only(paths, folder) for part, paths in by_part.items() if paths}

    def parts(self, files: TaskFiles) -> dict[str, Part]:
        """Return the examples of every existing part; raises DataError with every mistake of a file."""
        assert files.read is not None
        fetched = self._fetched(files)
        if fetched is not None:
            return fetched.parts(files)
        located = self.located(files)
        return {part: files.read(part, path, f"{files.folder}/{path.name}") for part, path in located.items()}

    def questions(self, files: TaskFiles, part: str, version: Version) -> SquadFile:
        """Return SQuAD's questions of a required part; raises DataError with every mistake of its file."""
        fetched = self._fetched(files)
        if fetched is not None:
            return fetched.questions(files, part, version)
        return read_squad(self.located(files)[part], version)

    def _fetched(self, files: TaskFiles) -> FetchedTasks | None:
        """Return the fetched copy of a task without official files, None if there is none."""
        root = resolved(self.path)
        fetched = FetchedTasks(root / FETCHED)
        if not fetched.has(files):
            return None
        official = _parts_in(folder_within(root, files.folder, files.collection), files)
        return None if any(official.values()) else fetched


def scored_file(data: Path, files: TaskFiles, task: str, null_odds: Path | None) -> Path:
    """Return the labelled file that predictions are scored on: `data` itself, or the dev part in a folder.

    Raises DataError if there is none, and for null odds, which SQuAD 2.0 alone has.
    """
    if null_odds is not None:
        raise DataError(f"{null_odds}: {task} has no null odds; they belong to squad_v2_0")
    found = data if data.is_file() else FolderOfTasks(path=str(data)).located(files).get("dev")
    if found is None:
        raise DataError(f"{data}: scoring needs the official files; {origin_of(files)}")
    return found


def _from_text(value: object) -> object:
    return {"path": value} if isinstance(value, str) else value


PublishedData = Annotated[FolderOfTasks, BeforeValidator(_from_text, json_schema_input_type=FolderOfTasks | str)]
"""The source of published tasks; a plain string is the folder's path."""


def _parts_in(folder: Path, files: TaskFiles) -> dict[str, list[Path]]:
    return {part: _matching(folder, pattern) for part, pattern in files.parts.items()}


def _matching(folder: Path, pattern: str) -> list[Path]:
    """Return the files that match a pattern. Raises DataError if a folder cannot be listed, unlike `glob`."""
    parent, name = (folder / pattern).parent, Path(pattern).name
    try:
        entries = sorted(parent.iterdir()) if parent.is_dir() else []
        return [path for path in entries if fnmatch(path.name, name) and stat.S_ISREG(path.stat().st_mode)]
    except OSError as failure:
        raise DataError(f"{failure.filename}: {failure.strerror}") from failure


def _only(paths: list[Path], folder: Path) -> Path:
    if len(paths) > 1:
        raise DataError(f"{folder}: {' and '.join(path.name for path in paths)} both match; expected one file")
    return paths[0]

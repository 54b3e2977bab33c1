"""Published tasks read with Hugging Face's `datasets`: by name and commit, or from a folder of local files."""

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, Self

from pydantic import ConfigDict, Field, model_validator

from foundation.errors import DataError
from foundation.schema import JsonValue, Schema
from tasks.commit import Commit
from tasks.data_folder import missing, resolved
from tasks.hub_client import FORMAT_OF, hub_split, saved_split, split_of_files
from tasks.labelled.task import Part, TaskFiles, Version
from tasks.splits import LoadedSplit, Split
from tasks.squad.questions import SquadFile
from tasks.squad.rows import read_rows

WANTED_BY = "fine_tuning.data of kind `datasets`"
SAVED = "state.json"  # `save_to_disk` writes one into the folder of each split
NAME_OR_PATH = "expected either a `name` with its `revision`, or the `path` of a folder"


class DatasetOfTasks(Schema):
    """A data set with a configuration per task, such as `nyu-mll/glue`; code from the hub is never run.

    `path` is a folder with one folder per configuration, or one of these, with the files of each split, such as
    `train.parquet` or `train-00000-of-00001.parquet`, or the output of `save_to_disk`: the layout of a clone of the
    hub.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [{"kind": "datasets", "path": "glue"}]})

    kind: Literal["datasets"] = "datasets"
    """Chooses Hugging Face's library `datasets`, an optional extra."""
    name: str | None = Field(
        default=None, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)?$", examples=["nyu-mll/glue"]
    )
    """The data set's name on the hub, with its owner; needs a `revision`."""
    revision: Commit | None = None
    """The commit that is read, as 40 hexadecimal digits; a branch may move."""
    path: str | None = Field(default=None, min_length=1)
    """A folder of local files in place of a name; `$STEEPLECHASE_DATA` may be its beginning."""
    tests: bool = True
    """Whether the tests without labels are read, and so predicted by every model, too; a submission needs them."""

    @model_validator(mode="after")
    def _name_or_path(self) -> Self:
        if (self.name is None) == (self.path is None) or (self.name is None) != (self.revision is None):
            raise ValueError(NAME_OR_PATH)
        return self

    def inputs(self, files: TaskFiles) -> JsonValue:
        """Return the identity of the data: name, revision and splits; for local files, the sha256 of each.

        Raises DataError as `located` does.
        """
        if self.path is None:
            splits: dict[str, JsonValue] = {part: str(split) for part, split in self._selected_splits(files).items()}
            return {"name": self.name, "revision": self.revision, "splits": splits}
        return {part: _hashes(paths) for part, paths in self._local(files).items()}

    def located(self, files: TaskFiles) -> Mapping[str, Path]:
        """Return no files: only official files have line numbers for messages.

        Raises DataError if the task is not published as a data set, or a required local split is missing.
        """
        if not files.splits:
            raise DataError(f"{files.folder} is not published as a data set; give the folder of its files")
        if self.path is not None:
            self._local(files)
        return {}

    def parts(self, files: TaskFiles) -> dict[str, Part]:
        """Return the examples of every existing part; raises DataError and MachineError."""
        assert files.read_split is not None
        self.located(files)
        splits = self._selected_splits(files)
        existing = splits if self.path is None else self._local(files)
        return {part: files.read_split(part, self._loaded(files, part), str(splits[part])) for part in existing}

    def questions(self, files: TaskFiles, part: str, version: Version) -> SquadFile:
        """Return SQuAD's questions of a required part; raises DataError and MachineError."""
        self.located(files)
        source = self.path if self.name is None else f"{self.name}@{str(self.revision)[:7]}"
        return read_rows(self._loaded(files, part), version, f"{source} {files.splits[part]}")

    def _selected_splits(self, files: TaskFiles) -> dict[str, Split]:
        return {part: split for part, split in files.splits.items() if self.tests or part not in files.unlabelled}

    def _loaded(self, files: TaskFiles, part: str) -> LoadedSplit:
        split = files.splits[part]
        if self.name is not None and self.revision is not None:
            return hub_split(self.name, self.revision, split, WANTED_BY)
        paths = self._local(files)[part]
        if (paths[0].parent / SAVED).is_file():
            return saved_split(paths[0].parent, split, WANTED_BY)
        return split_of_files(paths, split, WANTED_BY)

    def _local(self, files: TaskFiles) -> dict[str, list[Path]]:
        """Return the files of every existing split, by part."""
        root = resolved(str(self.path))
        if not root.is_dir():
            raise missing(f"{root}: no such folder; expected one with {_wanted(files)}")
        by_part = {part: _files_of(root, split) for part, split in self._selected_splits(files).items()}
        absent = [str(files.splits[part]) for part in files.needed if not by_part[part]]
        if absent:
            raise missing(f"{root}: no files of {' and '.join(absent)}; expected {_wanted(files)}")
        return {part: paths for part, paths in by_part.items() if paths}


def _wanted(files: TaskFiles) -> str:
    names = ", ".join(f"{files.splits[part]}.parquet" for part in files.needed)
    return f"{names} (or .csv, .json, .jsonl, shards such as -00000-of-00001, a folder of save_to_disk)"


def _files_of(root: Path, split: Split) -> list[Path]:
    """Return the files of one split in order, empty if there are none. Raises DataError for mixed formats."""
    folder = root / split.configuration if (root / split.configuration).is_dir() else root
    if (folder / split.name / SAVED).is_file():
        return sorted(path for path in (folder / split.name).iterdir() if path.is_file())
    name = re.compile(re.escape(split.name) + r"(-\d+-of-\d+)?")
    paths = sorted(
        path for path in folder.iterdir() if path.suffix in FORMAT_OF and name.fullmatch(path.stem) and path.is_file()
    )
    if len({path.suffix for path in paths}) > 1 or len({path.stem == split.name for path in paths}) > 1:
        raise DataError(
            f"{folder}: {', '.join(path.name for path in paths)} all match; expected one file or its shards"
        )
    return paths


def _hashes(paths: list[Path]) -> JsonValue:
    hashes: dict[str, JsonValue] = {}
    for path in paths:
        try:
            with path.open("rb") as file:
                hashes[path.name] = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as failure:
            raise DataError(f"{path}: {failure.strerror}") from failure
    return hashes

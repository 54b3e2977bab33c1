"""Locates SQuAD's files: a given file, or the one with an official name in a folder."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from steeplechase.foundation.errors import DataError
from steeplechase.tasks.data_folder import missing
from steeplechase.tasks.labelled.task import TaskFiles, Version, folder_within
from steeplechase.tasks.splits import Split

Part = Literal["train", "dev"]

OFFICIAL_SOURCE = "https://rajpurkar.github.io/SQuAD-explorer"
FOLDER = "squad"
CONFIGURATION: Mapping[Version, str] = {"v1.1": "plain_text", "v2.0": "squad_v2"}
"""Configurations of `rajpurkar/squad` and `rajpurkar/squad_v2` on the hub."""


def published(version: Version, train_count: int, dev_count: int) -> TaskFiles:
    """Return the files of a version; a subset such as `train-v1.1.subset44.json` may replace a full file."""
    return TaskFiles(
        folder=FOLDER,
        parts={part: f"{part}-{version}*.json" for part in ("train", "dev")},
        origin=OFFICIAL_SOURCE,
        read=None,
        counts={"train": train_count, "dev": dev_count},
        splits={"train": Split(CONFIGURATION[version], "train"), "dev": Split(CONFIGURATION[version], "validation")},
    )


def squad_file(path: Path, version: Version, part: Part) -> Path:
    """Return the file of one part: `path` itself, or the file with an official name in a folder or its `squad`.

    Without the official file, a folder may have one subset of it, such as `train-v1.1.subset44.json`. Raises
    DataError, with the expected file and its origin, if there is none or several.
    """
    if not path.is_dir():
        return path
    folder = folder_within(path, FOLDER)
    official = f"{part}-{version}.json"
    if (folder / official).is_file():
        return folder / official
    candidates = sorted(each for each in folder.glob(f"{part}-{version}*.json") if each.is_file())
    if len(candidates) == 1:
        return candidates[0]
    wanted = f"expected {official} of {OFFICIAL_SOURCE}, or one subset of it named {part}-{version}.*.json"
    if candidates:
        raise DataError(f"{folder}: {', '.join(each.name for each in candidates)}: several files match; {wanted}")
    raise missing(f"{folder}: no {official}; {wanted}")


def is_official_name(path: Path, version: Version, part: Part) -> bool:
    """Whether a file has the official name; results on other files are reported with their name."""
    return path.name == f"{part}-{version}.json"

"""Where SQuAD's official files lie: a file as named, or the one file of a folder that bears an official name."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from foundation.errors import DataError
from tasks.labelled.task import TaskFiles, Version, folder_within
from tasks.splits import Split

Part = Literal["train", "dev"]

OFFICIAL_SOURCE = "https://rajpurkar.github.io/SQuAD-explorer"
FOLDER = "squad"
CONFIGURATION: Mapping[Version, str] = {"v1.1": "plain_text", "v2.0": "squad_v2"}
"""What `rajpurkar/squad` and `rajpurkar/squad_v2` call theirs on the hub."""


def published(version: Version, train_count: int, dev_count: int) -> TaskFiles:
    """Return where a version's two files lie; a cut such as `train-v1.1.subset44.json` may stand for the whole."""
    return TaskFiles(
        folder=FOLDER,
        parts={part: f"{part}-{version}*.json" for part in ("train", "dev")},
        origin=OFFICIAL_SOURCE,
        read=None,
        counts={"train": train_count, "dev": dev_count},
        splits={"train": Split(CONFIGURATION[version], "train"), "dev": Split(CONFIGURATION[version], "validation")},
    )


def squad_file(path: Path, version: Version, part: Part) -> Path:
    """Return the file of one part: `path` itself, or in a folder, or in its `squad`, `train-v1.1.json` and the like.

    A folder may hold a cut of it instead, such as `train-v1.1.subset44.json`, if it holds one alone; the official
    name wins. Raises DataError, with what is wanted and where it comes from, where there is none or several.
    """
    if not path.is_dir():
        return path
    folder = folder_within(path, FOLDER)
    official = f"{part}-{version}.json"
    if (folder / official).is_file():
        return folder / official
    found = sorted(each for each in folder.glob(f"{part}-{version}*.json") if each.is_file())
    if len(found) == 1:
        return found[0]
    wanted = f"expected {official} of {OFFICIAL_SOURCE}, or one cut of it named {part}-{version}.*.json"
    if found:
        raise DataError(f"{folder}: {', '.join(each.name for each in found)}: several files match; {wanted}")
    raise DataError(f"{folder}: no {official}; {wanted}")


def is_official_name(path: Path, version: Version, part: Part) -> bool:
    """Whether a file bears the official name: a result on any other says which file it was."""
    return path.name == f"{part}-{version}.json"

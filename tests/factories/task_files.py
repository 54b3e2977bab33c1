"""The files of a task, and the examples of one of them."""

from pathlib import Path

from steeplechase.tasks.downstream import find_task
from steeplechase.tasks.labelled.task import Part, TaskFiles


def files_of(name: str) -> TaskFiles:
    files = find_task(name).files
    assert files is not None
    return files


def read_part(name: str, path: Path, part: str = "dev") -> Part:
    """Return the examples of a file, which messages call by its name."""
    read = files_of(name).read
    assert read is not None
    return read(part, path, path.name)

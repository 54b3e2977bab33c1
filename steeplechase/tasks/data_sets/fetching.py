"""Fetches data sets from the Hugging Face hub into the data folder, at the commit in the registry."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from steeplechase.foundation.atomic_files import atomic_directory, sha256_of
from steeplechase.foundation.errors import ConflictError, DataError
from steeplechase.tasks.data_sets.registry import DataSet
from steeplechase.tasks.data_sets.verification import MANIFEST, FetchedFile, Manifest, State, find
from steeplechase.tasks.hub_client import save_split
from steeplechase.tasks.splits import Split

WANTED_BY = "steeplechase data fetch"
AVAILABLE = (State.VERIFIED, State.FETCHED)


def refuse_unfetchable(chosen: dict[str, DataSet], folder: Path) -> None:
    """Raise DataError for every data set that is neither on the hub nor in the data folder."""
    lines = [
        f"{name}: is not fetched by this command; get it from {data_set.source} and put its files at "
        f"{_common_folder(data_set, folder)}"
        for name, data_set in chosen.items()
        if data_set.hub is None and find(data_set, folder).state not in AVAILABLE
    ]
    if lines:
        raise DataError(lines)


def fetch(data_set: DataSet, folder: Path) -> tuple[Path, bool]:
    """Write a data set's splits as Parquet files; return their folder, and whether anything was fetched.

    A verified data set is left unchanged. Raises MachineError without the extra `datasets`, the network or a writable
    disk, DataError if the hub lacks the data set, ConflictError if an incomplete or different copy exists; no partial
    files remain in these cases.
    """
    finding = find(data_set, folder)
    if finding.state is State.VERIFIED:
        return _common_folder(data_set, folder), False
    target, hub = data_set.fetched_in(folder), data_set.hub
    assert target is not None
    assert hub is not None
    if finding.state is State.FETCHED:
        return target, False
    if finding.state is not State.ABSENT:
        advice = "some of it is there already and is left as it is; complete it, or move it away"
        raise ConflictError(f"{fault}; {advice}" for fault in finding.faults)
    with _without_empty_folders(target.parent), atomic_directory(target) as writing:
        files: dict[str, FetchedFile] = {}
        for split in hub.splits:
            file = writing / f"{split}.parquet"
            rows = save_split(hub.name, hub.revision, Split(hub.configuration, split), file, WANTED_BY)
            files[file.name] = FetchedFile(rows=rows, bytes=file.stat().st_size, sha256=sha256_of(file))
        manifest = Manifest(name=hub.name, revision=hub.revision, configuration=hub.configuration, files=files)
        (writing / MANIFEST).write_text(manifest.model_dump_json(indent=2) + "\n")
    return target, True


def _common_folder(data_set: DataSet, folder: Path) -> Path:
    """Return the deepest folder that holds all files of a data set."""
    parents = [Path(file.path).parents for file in data_set.files]
    return folder / next(each for each in parents[0] if all(each in others for others in parents))


@contextmanager
def _without_empty_folders(folder: Path) -> Iterator[None]:
    """Remove the folder and its parents on exit if they were created meanwhile and are empty."""
    created = [each for each in (folder, *folder.parents) if not each.exists()]
    try:
        yield
    finally:
        for each in created:
            with suppress(OSError):
                each.rmdir()

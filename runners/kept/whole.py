"""A folder that is there whole or not at all: written under another name, flushed, then renamed into place."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from safetensors import SafetensorError

from runners.kept.durable import flush
from search_space.refusals import Conflict, EnvironmentRefused


def refuse_existing(folder: Path) -> None:
    """Raise Conflict where something is there already: nothing is ever written over."""
    if folder.exists() or folder.is_symlink():
        raise Conflict(f"{folder}: is there already and is left as it is; name a folder that is not, or move it away")


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """Give a folder to write into; it takes its name when all is on disk, and is gone where anything goes wrong.

    What a killed process leaves lies beside it under `.NAME.writing`, and the next try clears it away. Raises
    Conflict where the name is taken, EnvironmentRefused where the disk says no.
    """
    refuse_existing(folder)
    temporary = folder.with_name(f".{folder.name}.writing")
    try:
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
        yield temporary
        for path in [*temporary.iterdir(), temporary]:
            flush(path)
        refuse_existing(folder)
        temporary.rename(folder)
        flush(folder.parent)
    except (OSError, SafetensorError) as error:
        raise EnvironmentRefused(f"{folder}: cannot be written ({error})") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)

"""Hugging Face folders that an experiment file names as initial checkpoints: imported once, by content."""

import hashlib
from dataclasses import replace
from pathlib import Path

from steeplechase.configuration.checkpoints import with_folders
from steeplechase.configuration.initial_checkpoint import is_initial_checkpoint
from steeplechase.configuration.yaml import ConfigurationFile
from steeplechase.foundation.atomic_files import sha256_of
from steeplechase.foundation.errors import ConflictError
from steeplechase.ledger.paths import RESULTS
from steeplechase.tasks.data_folder import resolved

IMPORTED = Path(RESULTS) / "imported"
CONFIG = "config.json"
SOURCES = ("*.json", "*.txt", "*.model", "*.safetensors")
"""The files of a Hugging Face folder that a checkpoint is made of."""
DIGITS = 16


def with_imported_folders(file: ConfigurationFile) -> ConfigurationFile:
    """Return the file with its Hugging Face folders as initial checkpoints.

    Raises DataError with the reasons why a folder cannot be imported.
    """
    documents = {scale: with_folders(document, _imported) for scale, document in file.documents.items()}
    return replace(file, documents=documents)


def _imported(name: str) -> str:
    """Return the initial checkpoint of a Hugging Face folder; any other path is returned unchanged."""
    folder = resolved(name)
    if is_initial_checkpoint(folder) or not (folder / CONFIG).is_file():
        return name
    from steeplechase.commands.huggingface.import_folder import import_folder

    out = IMPORTED / f"{folder.resolve().name}-{_content(folder)[:DIGITS]}"
    if not is_initial_checkpoint(out):
        out.parent.mkdir(parents=True, exist_ok=True)
        try:
            import_folder(folder, out, f"{folder} as {out}")
        except ConflictError:
            if not is_initial_checkpoint(out):  # else another command has imported it meanwhile
                raise
    return str(out)


def _content(folder: Path) -> str:
    """Return the hash of the names and contents of a folder's files."""
    files = sorted({path for pattern in SOURCES for path in folder.glob(pattern) if path.is_file()})
    return hashlib.sha256("\n".join(f"{path.name} {sha256_of(path)}" for path in files).encode()).hexdigest()

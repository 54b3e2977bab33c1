"""A start: an encoder's weights with their architecture and vocabulary, to begin pretraining from.

`steeplechase import` writes such a folder. Its provenance holds the sha256 of every other file, and what does not
match is refused. No torch here, so that keys and refusals need none.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml
from pydantic import BaseModel

from configuration.yaml import load
from foundation.atomic_files import sha256_of
from foundation.errors import CorruptionError, MachineError
from foundation.schema import JsonValue, Schema, canonical, canonical_text
from search_space.architecture import Architecture
from search_space.convolution import SpanDynamic
from tasks.tokenizer import SETTINGS_FILE, VOCABULARY_FILE

ARCHITECTURE, WEIGHTS, PROVENANCE = "architecture.yaml", "weights.safetensors", "provenance.json"


class Provenance(Schema):
    """Where a start comes from, and what its files are."""

    model_type: str
    """The family it was in: convbert, electra or bert."""
    sources: dict[str, str]
    """sha256 of the files that were read, by name."""
    left_out: tuple[str, ...]
    """Weights of the source that an encoder does not have, such as a pooler."""
    files: dict[str, str]
    """sha256 of this folder's other files, by name."""


@dataclass(frozen=True)
class InitialCheckpoint:
    """A start that has been read; its weights stay on the disk."""

    folder: Path
    architecture: Architecture
    provenance: Provenance

    @property
    def weights_hash(self) -> str:
        """The sha256 of the weights, as recorded."""
        return self.provenance.files[WEIGHTS]

    @property
    def vocabulary(self) -> JsonValue:
        """The identity of its vocabulary, as `GivenVocabulary.inputs` tells it; None where it has none."""
        if VOCABULARY_FILE not in self.provenance.files:
            return None
        lowercase = bool(json.loads((self.folder / SETTINGS_FILE).read_text())["lowercase"])
        return {"kind": "vocabulary", "lowercase": lowercase, "sha256": self.provenance.files[VOCABULARY_FILE]}

    @property
    def remedy(self) -> str:
        """What to write so that an experiment reads text with the vocabulary that the weights know."""
        if not isinstance(self.vocabulary, dict):
            return f"{self.folder} has no vocabulary; import it anew from a folder with vocab.txt or tokenizer.json"
        lowercase = str(self.vocabulary["lowercase"]).lower()
        path = f"path: {self.folder / VOCABULARY_FILE}, lowercase: {lowercase}"
        return f"the start's weights know another vocabulary; write tokenizer: {{ kind: vocabulary, {path} }}"

    def verify(self, name: str) -> Path:
        """Return the path of a file that is what was written. Raises CorruptionError."""
        path = self.folder / name
        if not path.is_file() or sha256_of(path) != self.provenance.files.get(name):
            raise CorruptionError(f"{path}: is not what was imported; import the model again into another folder")
        return path


def is_initial_checkpoint(folder: Path) -> bool:
    """Whether the folder was written by `steeplechase import`."""
    return (folder / PROVENANCE).is_file()


def read_initial_checkpoint(folder: Path) -> InitialCheckpoint:
    """Read a start; its small files are verified, its weights by whoever loads them.

    Raises MachineError where there is none, CorruptionError where it is not what was written.
    """
    if not is_initial_checkpoint(folder):
        message = f"{folder}: no start here; `steeplechase import HUGGING_FACE_FOLDER {folder}` makes one"
        raise MachineError(message)
    try:
        provenance = Provenance.model_validate_json((folder / PROVENANCE).read_text())
    except (OSError, ValueError) as damage:
        raise CorruptionError(f"{folder / PROVENANCE}: cannot be read ({type(damage).__name__})") from damage
    provisional = InitialCheckpoint(folder, Architecture(), provenance)
    for name in provenance.files:
        if name != WEIGHTS:
            provisional.verify(name)
    return InitialCheckpoint(folder, load(folder / ARCHITECTURE, Architecture, None), provenance)


def write_architecture(folder: Path, architecture: Architecture) -> None:
    """Write architecture.yaml with every field, so that a later default changes nothing."""
    text = yaml.safe_dump(architecture.model_dump(), sort_keys=False)
    (folder / ARCHITECTURE).write_text(text)


def write_provenance(folder: Path, model_type: str, sources: Mapping[str, str], left_out: tuple[str, ...]) -> None:
    """Write provenance.json over the files that the folder holds; the last file to be written."""
    files = {path.name: sha256_of(path) for path in sorted(folder.iterdir())}
    provenance = Provenance(model_type=model_type, sources=dict(sources), left_out=left_out, files=files)
    (folder / PROVENANCE).write_text(provenance.model_dump_json(indent=2) + "\n")


def differing_fields(start: Architecture, wanted: Architecture) -> Iterator[str]:
    """Yield the fields that keep the start's weights from being those of another architecture, with both values."""
    mine, its = _of_weights(wanted), _of_weights(start)
    for name in Architecture.model_fields:
        here, there = (_shown(getattr(each, name)) for each in (mine, its))
        if here != there:
            yield f"{name} {here} here, {there} in the start"


def _of_weights(architecture: Architecture) -> Architecture:
    """Return the architecture as its weights know it: whether padding leaks changes none of them."""
    if not isinstance(architecture.convolution, SpanDynamic):
        return architecture
    convolution = architecture.convolution.model_copy(update={"padding": "masked"})
    return architecture.model_copy(update={"convolution": convolution})


def _shown(value: object) -> str:
    return canonical_text(canonical(value)) if isinstance(value, BaseModel) else str(value)

"""An initial checkpoint: an encoder's weights with their architecture and vocabulary, from which pretraining begins.

`steeplechase import` writes such a folder. Its provenance holds the sha256 of every other file; a file that does not
match is an error. Free of torch, since keys and validation need none.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml
from pydantic import BaseModel

from search_space.architecture import Architecture
from search_space.convolution import SpanDynamic
from steeplechase.configuration.yaml import load
from steeplechase.foundation.atomic_files import sha256_of
from steeplechase.foundation.canonical import canonical, canonical_text
from steeplechase.foundation.errors import CorruptionError, MachineError, damage_refused
from steeplechase.foundation.names import RelativeName, Sha256, inside
from steeplechase.foundation.schema import JsonValue, Schema
from steeplechase.tasks.tokenizer import SETTINGS_FILE, VOCABULARY_FILE, ByteBpe, SentencePiece

ARCHITECTURE, WEIGHTS, PROVENANCE = "architecture.yaml", "weights.safetensors", "provenance.json"


class Provenance(Schema):
    """Source of an initial checkpoint, and hashes of its files."""

    model_type: str
    """The source's model family, such as bert: the `model_type` of its config.json."""
    sources: dict[str, Sha256]
    """sha256 of the source's files, by name."""
    left_out: tuple[str, ...]
    """Weights of the source that are not part of an encoder, such as a pooler."""
    files: dict[RelativeName, Sha256]
    """sha256 of this folder's other files, by name."""


@dataclass(frozen=True)
class InitialCheckpoint:
    """An initial checkpoint without its weights, which stay on disk."""

    folder: Path
    architecture: Architecture
    provenance: Provenance

    @property
    def weights_hash(self) -> str:
        """The recorded sha256 of the weights."""
        return self.provenance.files[WEIGHTS]

    @property
    def vocabulary(self) -> JsonValue:
        """The identity of its vocabulary, in the form of its declaration's `inputs`; None if it has no vocabulary."""
        if SETTINGS_FILE not in self.provenance.files:
            return None
        with damage_refused(str(self.folder / SETTINGS_FILE)):
            settings = json.loads((self.folder / SETTINGS_FILE).read_text())
            if settings.get("kind") in (ByteBpe.kind, SentencePiece.kind):
                return {"kind": settings["kind"], "sha256": settings["vocabulary_sha256"]}
            lowercase = bool(settings["lowercase"])
            return {"kind": "vocabulary", "lowercase": lowercase, "sha256": self.provenance.files[VOCABULARY_FILE]}

    @property
    def tokenizer(self) -> dict[str, JsonValue] | None:
        """The declaration of the tokenizer that fits the weights; None if there is no vocabulary."""
        if not isinstance(self.vocabulary, dict):
            return None
        kind = self.vocabulary["kind"]
        if "lowercase" not in self.vocabulary:
            return {"kind": kind, "path": str(self.folder)}
        path = str(self.folder / VOCABULARY_FILE)
        return {"kind": kind, "path": path, "lowercase": self.vocabulary["lowercase"]}

    @property
    def remedy(self) -> str:
        """The end of an error message: the tokenizer declaration that fits the weights."""
        if self.tokenizer is None:
            files = "vocab.txt, vocab.json and merges.txt, spiece.model, or tokenizer.json"
            return f"{self.folder} has no vocabulary; import it anew from a folder with {files}"
        fields = (
            f"{name}: {str(value).lower() if name == 'lowercase' else value}"
            for name, value in self.tokenizer.items()
        )
        return f"the initial checkpoint has another vocabulary; write tokenizer: {{ {', '.join(fields)} }}"

    def verify(self, name: str) -> Path:
        """Return the path of a file whose hash matches. Raises CorruptionError if it does not."""
        path = inside(self.folder, name)
        if not path.is_file() or sha256_of(path) != self.provenance.files.get(name):
            raise CorruptionError(
                f"{path}: differs from the imported file; import the model again into another folder"
            )
        return path


def is_initial_checkpoint(folder: Path) -> bool:
    """Whether the folder was written by `steeplechase import`."""
    return (folder / PROVENANCE).is_file()


def read_initial_checkpoint(folder: Path) -> InitialCheckpoint:
    """Return the initial checkpoint of a folder; every file but the weights is verified.

    Raises MachineError if there is none, CorruptionError if a file differs from the imported one.
    """
    if not is_initial_checkpoint(folder):
        message = (
            f"{folder}: no initial checkpoint here; `steeplechase import HUGGING_FACE_FOLDER {folder}` makes one"
        )
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
    """Write architecture.yaml with every field, so that a changed default has no effect on it."""
    text = yaml.safe_dump(architecture.model_dump(), sort_keys=False)
    (folder / ARCHITECTURE).write_text(text)


def write_provenance(folder: Path, model_type: str, sources: Mapping[str, str], left_out: tuple[str, ...]) -> None:
    """Write provenance.json with the hashes of all files in the folder; call it last."""
    files = {path.name: sha256_of(path) for path in sorted(folder.iterdir())}
    provenance = Provenance(model_type=model_type, sources=dict(sources), left_out=left_out, files=files)
    (folder / PROVENANCE).write_text(provenance.model_dump_json(indent=2) + "\n")


def differing_fields(checkpoint: Architecture, architecture: Architecture) -> Iterator[str]:
    """Yield the fields in which an architecture's weights differ from a checkpoint's, with both values."""
    declared, imported = _without_padding(architecture), _without_padding(checkpoint)
    kind = type(declared) if type(declared) is type(imported) else Architecture
    for name in kind.model_fields:
        value, checkpoint_value = (_shown(getattr(each, name)) for each in (declared, imported))
        if value != checkpoint_value:
            yield f"{name} {value} here, {checkpoint_value} in the initial checkpoint"


def _without_padding(architecture: Architecture) -> Architecture:
    """Return the architecture with the default padding of its convolution, which changes no weight."""
    if not isinstance(architecture.convolution, SpanDynamic):
        return architecture
    convolution = architecture.convolution.model_copy(update={"padding": "masked"})
    return architecture.model_copy(update={"convolution": convolution})


def _shown(value: object) -> str:
    return canonical_text(canonical(value)) if isinstance(value, BaseModel) else str(value)

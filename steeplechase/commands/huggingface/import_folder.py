"""Imports a Hugging Face folder as a checkpoint: weights, checked against the architecture, and vocabulary."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from search_space.architecture import Architecture
from steeplechase.commands.huggingface.found_vocabulary import FoundVocabulary, read_json
from steeplechase.commands.huggingface.import_vocabulary import find_vocabulary
from steeplechase.commands.output import tell
from steeplechase.configuration.initial_checkpoint import WEIGHTS, write_architecture, write_provenance
from steeplechase.foundation.atomic_files import atomic_directory, sha256_of
from steeplechase.foundation.errors import DataError, MachineError, first_lines
from steeplechase.models.build_encoder import build_encoder
from steeplechase.models.huggingface import config
from steeplechase.models.huggingface.families import FAMILIES, Family, WeightPair, nearest
from steeplechase.models.huggingface.weight_names import encoder_pairs, from_transformers, to_transformers

LEGACY = ((".gamma", ".weight"), (".beta", ".bias"))  # names of layer norm weights in files from before 2019
BUFFERS = (
    "embeddings.position_ids",
    "embeddings.token_type_ids",
)  # position indices, not learned; present in older files
POOLER = "pooler."  # a map on the first token, trained only by BERT's next-sentence objective
WIDENED = (torch.float16, torch.bfloat16)
MOST_PARAMETERS = 10**12  # larger than any file; larger claims are rejected before a model is built


@dataclass(frozen=True)
class FoundWeights:
    """The encoder's tensors by name, without a prefix, and the rest of the file."""

    encoder: Mapping[str, Tensor]
    left_out: tuple[str, ...]
    """Names of tensors outside the encoder: heads, a pooler."""
    widened: bool
    """Whether half-precision values were converted to float32, which is exact."""


def find_weights(path: Path, model_type: str) -> FoundWeights:
    """Read the file. Raises DataError if it is not safetensors."""
    try:
        tensors = load_file(path)
    except (OSError, SafetensorError, ValueError) as damage:
        raise DataError(f"{path}: cannot be read as safetensors ({damage})") from damage
    family = FAMILIES[model_type]
    prefix = f"{family.prefix}."
    prefixed = any(name.startswith(prefix) for name in tensors)
    encoder: dict[str, Tensor] = {}
    left_out = []
    for name, value in tensors.items():
        unprefixed = _modern(name.removeprefix(prefix))
        if unprefixed in BUFFERS or unprefixed.endswith(family.buffers):
            continue
        if unprefixed in (*family.tied, *family.zero, *family.optional):
            encoder[unprefixed] = value
        elif (prefixed and not name.startswith(prefix)) or unprefixed.startswith(POOLER):
            left_out.append(name)
        else:
            encoder[unprefixed] = value
    encoder = _untied(path, encoder, family)
    widened = any(value.dtype in WIDENED for value in encoder.values())
    return FoundWeights(encoder, tuple(sorted(map(_printable, left_out))), widened)


def converted_weights(path: Path, found: FoundWeights, architecture: Architecture) -> dict[str, Tensor]:
    """Return the weights with this project's names. Raises DataError with every missing, wrong or unused tensor."""
    if architecture.parameters > MOST_PARAMETERS or architecture.depth > len(found.encoder):
        claim = f"config.json has {architecture.depth} layers and {architecture.parameters} parameters"
        raise DataError(f"{path}: {claim}; the file has {len(found.encoder)} tensors of an encoder")
    pairs = encoder_pairs(architecture)
    expected = _shapes(architecture, pairs)
    optional = nearest(architecture).optional
    absent = {name: torch.zeros(expected[name]) for name in optional if name in expected}
    encoder = {**absent, **found.encoder}
    mistakes = [f"{path}: {line}" for line in _mistakes(encoder, expected)]
    if mistakes:
        raise DataError(first_lines(mistakes, lambda more: f"{path}: … and {more} more such lines"))
    return from_transformers({name: value.float() for name, value in encoder.items()}, pairs)


def _untied(path: Path, encoder: dict[str, Tensor], family: Family) -> dict[str, Tensor]:
    """Return the tensors without copies and without those that are 0. Raises DataError where they are not."""
    found, mistakes = dict(encoder), []
    for name in family.tied.keys() & found.keys():
        value, original = found.pop(name), family.tied[name]
        if not torch.equal(found.setdefault(original, value), value):
            mistakes.append(f"{path}: {name} differs from {original}; config.json says that they are tied")
    for name in set(family.zero) & found.keys():
        if bool(found.pop(name).any()):
            mistakes.append(f"{path}: {name} holds values other than 0, which no {family.title} here has")
    if mistakes:
        raise DataError(sorted(mistakes))
    return found


def _modern(name: str) -> str:
    for before, after in LEGACY:
        if name.endswith(f"LayerNorm{before}"):
            return name.removesuffix(before) + after
    return name


def _printable(name: str) -> str:
    """Return a name from a file, escaped if it is not printable."""
    return name if name.isprintable() else ascii(name)


def _shapes(architecture: Architecture, pairs: tuple[WeightPair, ...]) -> dict[str, tuple[int, ...]]:
    """Return the shape of each tensor by its name in transformers, from an encoder on the meta device."""
    with torch.device("meta"):
        weights = dict(build_encoder(architecture, 0.0).named_parameters())
    return {name: tuple(value.shape) for name, value in to_transformers(weights, pairs).items()}


def _mistakes(found: Mapping[str, Tensor], expected: Mapping[str, tuple[int, ...]]) -> Iterator[str]:
    for name in sorted(expected.keys() - found.keys()):
        yield f"{name} is missing"
    for name in sorted(found.keys() - expected.keys()):
        yield f"{_printable(name)} is not a weight of the model in config.json"
    for name in sorted(expected.keys() & found.keys()):
        value = found[name]
        if tuple(value.shape) != expected[name]:
            yield f"{name} has the shape {[*value.shape]}, config.json has {[*expected[name]]}"
        elif value.dtype not in (torch.float32, *WIDENED):
            yield f"{name} holds {str(value.dtype).removeprefix('torch.')}; allowed: float32, float16, bfloat16"
        elif not bool(value.isfinite().all()):
            yield f"{name} holds values that are not finite"


CONFIG, MODEL = "config.json", "model.safetensors"
SHARDED, PICKLES = f"{MODEL}.index.json", ("pytorch_model.bin", "pytorch_model.bin.index.json")


def import_folder(folder: Path, out: Path, title: str) -> None:
    """Write the initial checkpoint; notes for the user and the title go to the error stream.

    Raises MachineError without the folder, DataError with every reason why it cannot be read.
    """
    notes = _write_checkpoint(folder, out)
    for line in [*(f"note: {note}" for note in notes), f"imported: {title}"]:
        tell(line)


def _write_checkpoint(folder: Path, out: Path) -> tuple[str, ...]:
    if not folder.is_dir():
        raise MachineError(f"{folder}: no such folder")
    _refuse_links_out(folder)
    document, unreadable = read_json(folder / CONFIG)
    read = config.Reading(None, ()) if unreadable else config.read(document)
    vocabulary = find_vocabulary(folder, read.architecture.vocabulary_size if read.architecture else None)
    reasons = [*unreadable, *(f"{folder / CONFIG}: {reason}" for reason in read.reasons)]
    reasons += [*_missing_weights(folder), *vocabulary.reasons]
    if reasons or read.architecture is None:
        raise DataError(reasons)
    return tuple(_convert(folder, out, (str(document["model_type"]), read.architecture), vocabulary))


def _refuse_links_out(folder: Path) -> None:
    """Raise DataError if a file is a link out of the folder, but to the blobs of a Hugging Face cache.

    There the folder is `snapshots/REVISION`, whose files are links to `blobs` beside `snapshots`.
    """
    own = folder.resolve()
    allowed = (own, own.parents[1] / "blobs") if own.parent.name == "snapshots" else (own,)
    found = (path for path in sorted(folder.iterdir()) if path.is_symlink())
    links = {path: Path(os.path.realpath(path)) for path in found}  # `resolve` raises for a loop
    reason = "a symbolic link out of the model's folder is not followed; put a copy of the file in its place"
    if out := [f"{path}: {reason}" for path, target in links.items() if not any(map(target.is_relative_to, allowed))]:
        raise DataError(out)


def _convert(folder: Path, out: Path, model: tuple[str, Architecture], vocabulary: FoundVocabulary) -> Iterator[str]:
    """Write the initial checkpoint and yield notes for the user."""
    from safetensors.torch import save_file  # imports torch, only now needed

    from steeplechase.commands.huggingface.import_folder import converted_weights, find_weights

    family, architecture = model
    found = find_weights(folder / MODEL, family)
    weights = converted_weights(folder / MODEL, found, architecture)
    with atomic_directory(out, (SafetensorError,)) as start:
        write_architecture(start, architecture)
        save_file(weights, start / WEIGHTS)
        if vocabulary.tokenizer is not None:
            vocabulary.tokenizer.save(start)
        sources = {name: sha256_of(folder / name) for name in (CONFIG, MODEL, *vocabulary.sources)}
        write_provenance(start, family, sources, found.left_out)
    if found.left_out:
        yield f"left out, not part of an encoder: {', '.join(found.left_out)}"
    if found.widened:
        yield "half-precision values were converted to float32, which is exact"
    if vocabulary.tokenizer is None:
        yield "the folder has no vocabulary: the model can be exported, but no experiment can start from it"


def _missing_weights(folder: Path) -> Iterator[str]:
    if (folder / MODEL).is_file():
        return
    convert = "AutoModel.from_pretrained(FOLDER).save_pretrained(NEW_FOLDER)"
    pickle = next((name for name in PICKLES if (folder / name).exists()), None)
    if (folder / SHARDED).exists():
        yield f"{folder / SHARDED}: weights in several files are not read; join them with {convert}"
    elif pickle is not None:
        why = f"pickles are not read; if you trust the file, {convert} in transformers"
        yield f"{folder / pickle}: {why} writes {MODEL}"
    else:
        yield f"{folder / MODEL}: no such file"

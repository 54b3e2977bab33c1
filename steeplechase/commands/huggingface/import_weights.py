"""The encoder's weights in a Hugging Face folder: read from any model class, checked against the architecture."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from search_space.architecture import Architecture
from steeplechase.foundation.errors import DataError, first_lines
from steeplechase.models.build_encoder import build_encoder
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

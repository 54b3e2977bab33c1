"""Converts an architecture to config.json of transformers' models, and back, or says why not.

Source: transformers 5.23, the configuration file of each family in `steeplechase.models.huggingface.families`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pydantic import ValidationError

from search_space.architecture import Architecture
from steeplechase.foundation.schema import JsonValue
from steeplechase.models.huggingface.families import FAMILIES, Family, nearest


def obstacles(architecture: Architecture, pad: int | None = None) -> Iterator[str]:
    """Yield every reason why transformers has no equivalent model; nothing if it has one.

    `pad` is the identifier of [PAD] in the model's vocabulary; None without a vocabulary.
    """
    yield from nearest(architecture).obstacles(architecture, pad)


def written(architecture: Architecture, class_name: str, dropout: float, pad: int) -> dict[str, JsonValue]:
    """Return config.json for `class_name`; `pad` is the token identifier of [PAD]."""
    family = nearest(architecture)
    keys = {field: key for field, key in family.sizes.items() if field in Architecture.model_fields}
    return {
        "architectures": [class_name],
        "model_type": family.model_type,
        **{key: getattr(architecture, field) for field, key in keys.items()},
        **{key: value for key, value in family.fixed.items() if key != "position_embedding_type"},
        **dict.fromkeys(family.dropouts, dropout),
        "initializer_range": 0.02,
        "pad_token_id": pad,
        "bos_token_id": None,
        "eos_token_id": None,
        "dtype": "float32",
        **family.keys(architecture),
    }


@dataclass(frozen=True)
class Reading:
    """Result of reading a config.json: an architecture, or the reasons why it is not supported."""

    architecture: Architecture | None
    reasons: tuple[str, ...]


def read(document: Mapping[str, JsonValue]) -> Reading:
    """Return the equivalent architecture of the configured model, or all reasons why there is none."""
    name = document.get("model_type")
    if not isinstance(name, str) or name not in FAMILIES:
        return Reading(None, (f"model_type: {name!r:.80} is not supported; allowed: {', '.join(sorted(FAMILIES))}",))
    family = FAMILIES[name]
    configured = family.completed(document)
    reasons = [*family.wrong_values(configured), *_wrong_sizes(configured, family)]
    if reasons:
        return Reading(None, tuple(reasons))
    try:
        architecture = Architecture.model_validate(family.fields(configured))
    except ValidationError as error:
        return Reading(None, tuple(_with_key(family, fault["loc"], fault["msg"]) for fault in error.errors()))
    broken = [_with_key(family, violation.path, violation.message) for violation in architecture.violations()]
    broken = broken or list(family.obstacles(architecture, None))
    return Reading(None if broken else architecture, tuple(broken))


def _wrong_sizes(configured: Mapping[str, JsonValue], family: Family) -> Iterator[str]:
    for key in family.sizes.values():
        size = configured[key]
        if not isinstance(size, int) or isinstance(size, bool) or size < 1:
            yield f"{key}: {size!r:.80} is not a whole number from 1"


def _with_key(family: Family, path: tuple[str | int, ...], message: str) -> str:
    """Return a message of this project about a field, with the key of config.json in front."""
    keys = {**family.sizes, "bottleneck_ratio": "num_attention_heads"}
    field = str(path[-1])
    return f"{keys.get(field, field)}: {message.removeprefix('Value error, ')}"

"""A candidate as flat MLflow parameters, defaults included, so that any two runs can be compared."""

import json
from collections.abc import Iterator, Mapping

from search_space.candidate import Candidate
from steeplechase.foundation.schema import JsonValue

LONGEST_PARAMETER_CHARACTERS = 500  # MLflow silently truncates at 6000; a column shows far less
SHORT_CODE_CHARACTERS = 10  # parallel coordinates truncate categories here and merge equal prefixes


def flat_parameters(candidate: Candidate) -> dict[str, str]:
    """Return `architecture.depth: 12`, … and the short code of the convolution for parallel coordinates."""
    flat = dict(_flat((), candidate.model_dump(mode="json")))
    return {**flat, "convolution": short_code(candidate.architecture.convolution.kind)}


def shortened(parameters: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the parameters truncated to a readable length, and the full values of the truncated ones."""
    long = {key: value for key, value in parameters.items() if len(value) > LONGEST_PARAMETER_CHARACTERS}
    beginning = LONGEST_PARAMETER_CHARACTERS - 1
    return {key: f"{value[:beginning]}…" if key in long else value for key, value in parameters.items()}, long


def short_code(kind: str) -> str:
    """Return an option's name in at most 10 characters: `span_dynamic` becomes `span_dyna`."""
    if len(kind) <= SHORT_CODE_CHARACTERS:
        return kind
    words = kind.split("_")
    room = (SHORT_CODE_CHARACTERS - len(words) + 1) // len(words)
    return "_".join(word[: max(1, room)] for word in words)[:SHORT_CODE_CHARACTERS]


def _flat(path: tuple[str, ...], value: JsonValue) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _flat((*path, name), item)
    else:
        yield ".".join(path), value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

"""Plan and run an experiment file from Python, as `steeplechase plan` and `steeplechase run` do."""

import json
import re
from collections.abc import Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal, get_origin

from steeplechase.foundation.errors import ConfigurationError
from steeplechase.foundation.schema import JsonValue
from steeplechase.results import Results, load, path_of

File = str | PathLike[str]
Settings = Mapping[str, object]
"""Values in place of the file's, by dotted key: `{"pretraining.tokens": 100_000}`."""
ESCAPE = re.compile(r"\\(?:(?P<pair>ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2})|.)")
"""An escape in JSON; a pair is one character, which YAML writes as one escape."""


def plan(
    file: File, scale: str | None = None, *, settings: Settings | None = None, out: File | None = None, **given: Any
) -> dict[str, JsonValue]:
    """Return the plan as `steeplechase plan FILE --json` prints it: arms, costs, cached stages, predicted time.

    `file` may be the name of an experiment, such as `table2`; `given` are further fields of `Selection`, such
    as `arms="k3"`. `pandas.DataFrame(plan(file)["arms"])` has a row per arm. Raises ConfigurationError with every
    mistake of the file or of `given`, and TypeError for a field that does not exist.
    """
    from runners.settings import Selection
    from steeplechase.commands.plan import planned

    fields = _of_types(Selection, {"scale": scale, **given})
    selection = Selection(overrides=_as_text(settings), out=_path(out), **fields)
    return planned(path_of(file, "file"), selection)


def run(
    file: File, scale: str | None = None, *, settings: Settings | None = None, out: File | None = None, **given: Any
) -> Results:
    """Run or resume an experiment and return its results; progress goes to the standard error stream.

    `given` are further fields of `RunSettings`, that is the flags of `steeplechase run`: `workers=4`, `engine="ray"`,
    `seeds="1-3"`, `store="s3://…"`. Trials that failed have no values; a second call retries them. Raises
    ConfigurationError with every mistake of the file or of `given`, TypeError for a setting that does not exist, and
    StoppedError when it is interrupted, after which the same call resumes.
    """
    from runners.settings import RunSettings
    from steeplechase.commands.run import run_experiment

    fields = _of_types(RunSettings, {"scale": scale, **given})
    how = RunSettings(overrides=_as_text(settings), out=_path(out), **fields)
    request, _ = run_experiment(path_of(file, "file"), how, lambda report, folder: None)
    return load(request.paths.folder, how.store)


def _of_types(settings: type, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return values as the types of their fields. Raises ConfigurationError with all that cannot be."""
    from pydantic import TypeAdapter, ValidationError

    from runners.flags import options_of
    from steeplechase.configuration.yaml.explanations import NEEDED

    values, mistakes = dict(given), []
    for field, kind, option in options_of(settings):
        if field.name in values and get_origin(kind) is not Literal:
            try:
                values[field.name] = TypeAdapter(kind).validate_python(values[field.name])
            except ValidationError as wrong:
                needed = NEEDED.get(wrong.errors()[0]["type"], "another value")
                mistakes.append(_mismatch(field.name, given[field.name], needed))
                mistakes[-1] += f". {option.help}" * (needed == NEEDED["string_type"])
    if mistakes:
        raise ConfigurationError(mistakes)
    return values


def _mismatch(name: str, value: object, needed: str) -> str:
    return f"{name}: {value!r:.80} is of type {type(value).__name__}; {needed} is needed"


def _path(place: File | None) -> Path | None:
    return None if place is None else path_of(place, "out")


def _as_text(settings: Settings | None) -> tuple[str, ...]:
    """Return settings as the command line has them; JSON is YAML but for characters that it writes as two escapes."""
    if settings is not None and not isinstance(settings, Mapping):
        raise ConfigurationError(_mismatch("settings", settings, "a mapping"))
    return tuple(f"{key}={_value_text(key, value)}" for key, value in (settings or {}).items())


def _value_text(key: str, value: object) -> str:
    try:
        text = json.dumps(value, default=_plain)
    except (TypeError, ValueError) as wrong:
        raise ConfigurationError(f"--set {key}: {value!r:.80} is no value of an experiment file ({wrong})") from None
    return ESCAPE.sub(_one_escape, text)


def _plain(value: object) -> JsonValue:
    """Return a number or array of numpy, or a path, as a file would have it. Raises TypeError for anything else."""
    import numpy as np

    if isinstance(value, np.generic | np.ndarray):
        plain: JsonValue = value.tolist()
        return plain
    if isinstance(value, PathLike):
        return str(fspath(value))
    raise TypeError(f"it is a {type(value).__name__}")


def _one_escape(found: re.Match[str]) -> str:
    if not found["pair"]:
        return found[0]
    character: str = json.loads(f'"{found[0]}"')
    return f"\\U{ord(character):08x}"

"""Plan and run an experiment file from Python, as `steeplechase plan` and `steeplechase run` do."""

import json
import re
from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Literal, get_args

from steeplechase.foundation.errors import ConfigurationError, not_one_of
from steeplechase.foundation.schema import JsonValue
from steeplechase.results import Results, load, path_of

File = str | PathLike[str]
Engine = Literal["local", "ray"]
Settings = Mapping[str, object]
"""Values in place of the file's, by dotted key: `{"pretraining.tokens": 100_000}`."""
ESCAPE = re.compile(r"\\(?:(?P<pair>ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2})|.)")
"""An escape in JSON; a pair is one character, which YAML writes as one escape."""


def plan(
    file: File,
    scale: str | None = None,
    *,
    settings: Settings | None = None,
    out: File | None = None,
    factories_of: Sequence[str] = (),
) -> dict[str, JsonValue]:
    """Return the plan as `steeplechase plan FILE --json` prints it: arms, costs, cached stages, predicted time.

    `file` may be the name of an experiment, such as `table2`. `pandas.DataFrame(plan(file)["arms"])` has a row per
    arm. Raises ConfigurationError with every mistake of the file.
    """
    from steeplechase.commands.plan import planned

    return planned(path_of(file, "file"), scale, _path(out), _as_text(settings), factories_of=factories_of)


def run(  # noqa: PLR0913 — one argument per option of a run
    file: File,
    scale: str | None = None,
    *,
    settings: Settings | None = None,
    workers: int = 2,
    engine: Engine = "local",
    out: File | None = None,
    store: str = "",
    factories_of: Sequence[str] = (),
) -> Results:
    """Run or resume an experiment and return its results; progress goes to the standard error stream.

    Trials that failed have no values; a second call retries them. Raises ConfigurationError with every mistake of the
    file, and StoppedError when it is interrupted, after which the same call resumes.
    """
    from steeplechase.commands.run_experiment import RunOptions, run_experiment

    if engine not in get_args(Engine):
        raise ConfigurationError(f"engine: {not_one_of(engine, 'an engine', get_args(Engine))}")
    if workers < 1:
        raise ConfigurationError(f"workers: {workers} is out of range; 1 or more are needed")
    options = RunOptions(
        engine, workers, _path(out), settings=_as_text(settings), objects=store, factories_of=tuple(factories_of)
    )
    request, _ = run_experiment(path_of(file, "file"), scale, options, lambda report, folder: None)
    return load(request.paths.folder, store)


def _path(place: File | None) -> Path | None:
    return None if place is None else path_of(place, "out")


def _as_text(settings: Settings | None) -> tuple[str, ...]:
    """Return settings as the command line has them; JSON is YAML but for characters that it writes as two escapes."""
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

"""The code of loaded plugins: its files, and the line of it from which an exception came."""

import traceback
from pathlib import Path

from steeplechase.foundation.option_modules import imported_name, place_of

PLUGIN_FILES: dict[str, Path] = {}
"""The file of every module of the loaded plugins, by its imported name; the plugin loader keeps it."""


def line_in_plugin(error: BaseException) -> str | None:
    """Return the innermost line of a plugin's code that an exception came through, such as `models/mine.py:12`.

    None where no frame is a plugin's. A file is named by its place in the tree: workers run a copy of the folder.
    """
    places = {str(path): place_of(module).with_suffix(".py") for module, path in PLUGIN_FILES.items()}
    if isinstance(error, SyntaxError) and error.filename in places:
        return f"{places[error.filename]}:{error.lineno or 1}"
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename in places]
    return f"{places[frames[-1].filename]}:{frames[-1].lineno}" if frames else None


def explained(error: BaseException) -> str:
    """Return an exception in one line: its class, the first line of its message, and the line of a plugin's code."""
    text = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
    if isinstance(error, ModuleNotFoundError) and imported_name(error.name or "") in PLUGIN_FILES:
        text += f"; it is imported as {imported_name(error.name or '')}"
    place = line_in_plugin(error)
    return text if place is None else f"{text} ({place})"

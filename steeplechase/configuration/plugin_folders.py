"""The plugins of an experiment: loaded as the file or the ledger is read, and copied into the results.

Workers and reports load the copy: the folder may move or change later, and nodes of a cluster need not see it.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

from pydantic import BeforeValidator, ValidationError, ValidationInfo, WithJsonSchema

from steeplechase.configuration.plugins import Plugin, PluginError, load_plugin, loaded_plugins, read_plugin
from steeplechase.foundation.atomic_files import disk_refusals, move_durably
from steeplechase.foundation.errors import CorruptionError
from steeplechase.foundation.names import Sha256
from steeplechase.foundation.option_modules import place_of
from steeplechase.foundation.schema import JsonValue, Schema

BASE = "folder of the file"
"""Key of the validation context: the folder that plugins are relative to."""
COPIES = "plugins"
"""The folder beside the stage store that has a copy of every plugin, named by its sha256."""


class PluginFolder(Schema):
    """A plugin as experiments refer to it: its folder, and its content when it was loaded."""

    path: str
    sha256: Sha256


def _loaded(value: object, info: ValidationInfo) -> object:
    """Load the folders: texts in a file, relative to it; folders with hashes in a ledger's document."""
    forms = (str, Mapping, PluginFolder)
    if not isinstance(value, tuple | list) or not all(isinstance(each, forms) for each in value):
        return value
    base = info.context.get(BASE) if isinstance(info.context, Mapping) else None
    if base is None and any(isinstance(each, str) for each in value):
        raise ValueError("a folder without its sha256; a record names plugins with both, and none is loaded for it")
    return tuple(_loaded_folder(each, base) for each in value)


def _loaded_folder(value: object, base: Path | None) -> PluginFolder:
    if base is None or not isinstance(value, str):
        return PluginFolder.model_validate(value)  # the ledger has loaded it
    plugin = load_plugin(base / value)
    return PluginFolder(path=str(plugin.folder), sha256=plugin.sha256)


Plugins = Annotated[
    tuple[PluginFolder, ...],
    BeforeValidator(_loaded),
    WithJsonSchema({"type": "array", "items": {"type": "string", "minLength": 1}}),
]
"""In a file, folders relative to it. They are loaded when the field is validated, before the fields that use them."""


def recorded_plugins(document: JsonValue) -> tuple[PluginFolder, ...]:
    """Return the plugins in a ledger's document of an experiment. Raises CorruptionError for one without its hash."""
    folders = document.get("plugins", []) if isinstance(document, dict) else []
    try:
        return tuple(PluginFolder.model_validate(each) for each in folders) if isinstance(folders, list) else ()
    except ValidationError as fault:
        raise CorruptionError("the ledger's document names a plugin without its sha256; restore the file") from fault


def recorded_copies(documents: Iterable[JsonValue], copies: Path) -> tuple[Plugin, ...]:
    """Return the copies of the plugins of a ledger's documents, nothing of which is imported.

    Of a plugin in several documents, the one of the first is returned.

    Raises PluginError if one has changed. A plugin without a copy is left out.
    """
    by_path = {plugin.path: plugin for document in reversed([*documents]) for plugin in recorded_plugins(document)}
    found = (_copy_in(copies, plugin.sha256) for plugin in by_path.values())
    return tuple(plugin for plugin in found if plugin is not None)


def copy_plugins(folders: Iterable[PluginFolder], copies: Path, source: Path | None = None) -> None:
    """Write a copy of the plugins into a folder; a copy that exists is kept, because its name is its hash.

    They are loaded, or have a copy in `source`, nothing of which is imported. Raises PluginError if a file has
    changed since the plugin was loaded or copied, MachineError if the copy cannot be written.
    """
    loaded = {plugin.sha256: plugin for plugin in loaded_plugins()}
    found = [_copy_in(source, each) or loaded.get(each) for each in sorted({folder.sha256 for folder in folders})]
    for plugin in found:
        if plugin is not None and not (copies / plugin.sha256).is_dir():
            with disk_refusals(copies):
                copies.mkdir(exist_ok=True)
                _copy(plugin, copies)


def _copy_in(source: Path | None, sha256: str) -> Plugin | None:
    """Return the copy of a plugin in a folder, None if there is none. Raises PluginError if it has changed."""
    if source is None or not (source / sha256).is_dir():
        return None
    plugin = read_plugin(source / sha256)
    if plugin.sha256 != sha256:
        raise PluginError(f"{plugin.folder}: its files have changed since they were copied; restore them")
    return plugin


def _copy(plugin: Plugin, copies: Path) -> None:
    """Write a copy under a name of its own, and move it into place unless another run was faster."""
    target = copies / plugin.sha256
    with TemporaryDirectory(dir=copies, prefix=".copying-") as scratch:
        files = {module: Path(scratch, "copy", place_of(module)).with_suffix(".py") for module in plugin.files}
        for module, place in files.items():
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(plugin.files[module].read_bytes())
        if Plugin(Path(scratch, "copy"), files).sha256 != plugin.sha256:
            raise PluginError(f"{plugin.folder}: its files have changed since they were loaded; run again")
        try:
            move_durably(Path(scratch, "copy"), target)
        except OSError:
            if not target.is_dir():
                raise


def copied(plugin: Plugin, copies: Path) -> tuple[str, str]:
    """Return the folder that a worker loads, the copy if there is one, and the sha256 that it has to have."""
    copy = copies / plugin.sha256
    return str((copy if copy.is_dir() else plugin.folder).resolve()), plugin.sha256

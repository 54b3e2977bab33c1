"""Plugins: folders outside the repository that mirror its tree; what they define is used as if built in.

`FOLDER/search_space/convolution/mine.py` and `FOLDER/models/convolution/mine.py` are an option `mine`,
`FOLDER/tasks/downstream/mine.py` is a task, `FOLDER/tasks/corpora/mine.py` a kind of corpus. A plugin is loaded
before the experiment is validated, and in every worker process. The content of the files that an option uses enters
the keys of its stages; their folder never does.
"""

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from pydantic import BaseModel

from search_space.architecture import Architecture
from search_space.module_architecture import ModuleArchitecture
from search_space.module_counts import PLUGINS
from search_space.module_factories import imported_names, source_hash
from search_space.sublayer import sublayers_by_letter
from steeplechase.configuration.plugin_declarations import DECLARED, DOWNSTREAM, declaration_mistakes
from steeplechase.foundation.atomic_files import sha256_of
from steeplechase.foundation.canonical import fingerprint
from steeplechase.foundation.errors import ConfigurationError, first_lines
from steeplechase.foundation.option_modules import TREE, imported_name, place_of, written_name
from steeplechase.foundation.plugin_code import PLUGIN_FILES
from steeplechase.foundation.schema import JsonValue, OpenOption, options_changed
from steeplechase.foundation.stand_ins import is_stand_in

INSTALLED = Path(__file__).resolve().parents[2]
MIRRORS = f"a plugin mirrors folders of {', '.join(f'{folder}/' for folder in TREE)}"
PLAIN = (str, int, float, type(None))
"""Values that hold no declaration, which most values are."""
HASH = re.compile(r"[0-9a-f]{64}")
"""The name of a copy of a plugin, which is in the results of a run inside the plugin's folder."""


class PluginError(ConfigurationError):
    """A plugin cannot be used; one line per reason."""


@dataclass(frozen=True, eq=False)
class Plugin:
    """A folder and its modules."""

    folder: Path
    files: Mapping[str, Path]
    """By the name under which it is imported, such as `search_space.convolution.mine`."""

    @cached_property
    def hashes(self) -> dict[str, str]:
        """The sha256 of every file by module."""
        return {module: sha256_of(path) for module, path in self.files.items()}

    @cached_property
    def sha256(self) -> str:
        """The hash of all files and their places in the tree, independent of the folder."""
        return fingerprint({written_name(module): sha256 for module, sha256 in self.hashes.items()})

    def source(self, module: str) -> dict[str, str]:
        """Return the hashes of the files that a module uses: its own, those that build it, and what they import."""
        name = module.rpartition(".")[2]
        open_modules = [each for each in self.files if each.rpartition(".")[2] == name]
        used: dict[str, str] = {}
        while open_modules:
            each = open_modules.pop()
            if each not in used:
                used[each] = self.hashes[each]
                open_modules += [other for other in imported_names(each, self.files[each]) if other in self.files]
        return used


class _Loader(SourceFileLoader):
    """Loads a module without writing bytecode beside it: copies of plugins keep their content."""

    def set_data(self, path: str, data: Any, *, _mode: int = 0o666) -> None:
        """Write nothing."""


class _Finder(MetaPathFinder):
    """Finds the modules of plugins, so that packages that need torch are not imported to extend their path."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        plugin = _LOADED.get(fullname)
        if plugin is None:
            return None
        path = str(plugin.files[fullname])
        return spec_from_file_location(fullname, path, loader=_Loader(fullname, path))


_LOADED: dict[str, Plugin] = {}
"""The plugin of every module that was loaded."""
_FINDER = _Finder()


def load_plugin(folder: Path, sha256: str = "") -> Plugin:
    """Return a plugin after its options have been added to their axes; a second time does nothing.

    Raises PluginError with one line per reason, and then adds nothing; also if its hash is not the given one.
    """
    plugin = read_plugin(folder)
    if sha256 not in ("", plugin.sha256):
        raise PluginError(f"{folder}: the plugin's source has changed; its sha256 was {sha256}, now {plugin.sha256}")
    known = {module: _LOADED[module] for module in plugin.files if module in _LOADED}
    for module, other in known.items():
        if other.hashes[module] != plugin.hashes[module]:
            raise PluginError(f"{plugin.files[module]}: {module} is loaded already, from {other.folder}")
    new = {module: plugin for module in plugin.files if module not in known}
    _LOADED.update(new)
    try:
        _extend(new, plugin)
        mistakes = [line for module in new for line in declaration_mistakes(module, plugin.folder, plugin.files)]
    except BaseException:
        _forget(new, plugin)
        raise
    if mistakes:
        _forget(new, plugin)
        raise PluginError(mistakes)
    return plugin


def plugin_of(module: str) -> Plugin | None:
    """Return the plugin that a module, also as written, is from; None for a module of the repository."""
    return _LOADED.get(imported_name(module))


def loaded_plugins() -> tuple[Plugin, ...]:
    """Return the plugins that were loaded, in this order."""
    return tuple(dict.fromkeys(_LOADED.values()))


def sources_of(value: object, tasks: Sequence[str] = ()) -> dict[str, JsonValue]:
    """Return by module the hash of the source that a declaration and tasks use from plugins; empty without any."""
    declarations = _declarations(value)
    modules = {f"{DOWNSTREAM}.{task}" for task in tasks} & _LOADED.keys()
    if _LOADED:
        modules |= _plugin_modules(declarations)
    sources = {
        written_name(module): fingerprint({written_name(each): sha256 for each, sha256 in source.items()})
        for module in sorted(modules)
        for source in (_LOADED[module].source(module),)
    }
    outside = _factories(declarations) - _LOADED.keys()
    return {**sources, **{module: source_hash(module) for module in outside}}


def kinds_without_code(value: object) -> list[str]:
    """Return the kinds of the options in a declaration of a record whose plugins are not loaded."""
    return [str(each.kind) for each in _declarations(value) if isinstance(each, OpenOption) and is_stand_in(each)]


def _declarations(value: object) -> list[BaseModel]:
    """Return all declarations in a value, itself included."""
    found, waiting = [], [value]
    while waiting:
        each = waiting.pop()
        values: Iterable[object] = ()
        if isinstance(each, BaseModel):
            found.append(each)
            values = (getattr(each, name) for name in type(each).model_fields)
        elif isinstance(each, tuple | list):
            values = each
        elif isinstance(each, Mapping):
            values = each.values()
        waiting.extend(inner for inner in values if not isinstance(inner, PLAIN))
    return found


def _plugin_modules(declarations: Sequence[BaseModel]) -> set[str]:
    modules = {type(each).__module__ for each in declarations} | _factories(declarations)
    modules |= {module for each in declarations for module in getattr(each, "metric_modules", ())}
    return modules.union(*map(_sublayers, declarations)) & _LOADED.keys()


def _factories(declarations: Sequence[BaseModel]) -> set[str]:
    """Return the modules that hold the factories of declared architectures."""
    return {each.module for each in declarations if isinstance(each, ModuleArchitecture)}


def _sublayers(value: BaseModel) -> set[str]:
    """Return the modules that define the sublayers of an architecture's layer programs, and their convolutions."""
    if not isinstance(value, Architecture):
        return set()
    letters = {sublayer.kind for program in value.programs for sublayer in program.sublayers()}
    own = {type(convolution).__module__ for convolution in value.convolutions}
    return own | {sublayers_by_letter()[letter].__module__ for letter in letters}


def read_plugin(folder: Path) -> Plugin:
    """Return a plugin without importing anything of it. Raises PluginError with one line per reason."""
    if not folder.is_dir():
        raise PluginError(f"{folder}: no such folder; {MIRRORS}")
    files, mistakes = {}, []
    tops = dict.fromkeys(folder.resolve() / each.partition("/")[0] for each in TREE)  # other files are the user's own
    for path in sorted(path for top in tops for path in top.rglob("*.py")):
        place = path.relative_to(folder.resolve())
        package = place.parent
        if any(part.startswith((".", "__pycache__")) or HASH.fullmatch(part) for part in place.parts[:-1]):
            continue
        built_in = INSTALLED.joinpath(*imported_name(".".join(place.with_suffix("").parts)).split("."))
        mirrored = any(package.is_relative_to(each) for each in TREE)
        if not mirrored or not (built_in.parent / "__init__.py").is_file():
            mistakes.append(f"{folder / place}: outside the mirrored tree; {MIRRORS}")
        elif built_in.with_suffix(".py").exists() or built_in.is_dir():
            mistakes.append(f"{folder / place}: the name of a built-in file; choose another")
        elif not all(part.isidentifier() for part in place.with_suffix("").parts):
            mistakes.append(f"{folder / place}: its name cannot be imported; use letters, digits and underscores")
        elif not path.is_file():
            mistakes.append(f"{folder / place}: not a file; a plugin's files are Python files, or links to them")
        else:
            files[imported_name(".".join(place.with_suffix("").parts))] = path
    if not files and not mistakes:
        mistakes.append(f"{folder}: no Python file in it is of a plugin; {MIRRORS}")
    if mistakes:
        raise PluginError(first_lines(mistakes, lambda more: f"{folder}: {more} more such files"))
    return Plugin(folder.resolve(), files)


def _extend(modules: Mapping[str, Plugin], plugin: Plugin) -> None:
    """Let the packages of declarations find the modules by listing; every other import finds them by name."""
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)  # before the path finder, whose loader writes bytecode
    for package in _declared_packages(modules):
        path = import_module(package).__path__
        place = str(plugin.folder / place_of(package))
        if place not in path:
            path.append(place)
    _loaded_have_changed()


def _forget(modules: Mapping[str, Plugin], plugin: Plugin) -> None:
    for package in _declared_packages(modules):
        path = import_module(package).__path__
        place = str(plugin.folder / place_of(package))
        if place in path:
            path.remove(place)
    for module in modules:
        _LOADED.pop(module, None)
        if sys.modules.pop(module, None) is not None:
            package, _, name = module.rpartition(".")
            vars(sys.modules[package]).pop(name, None)
    _loaded_have_changed()


def _loaded_have_changed() -> None:
    PLUGINS[:] = [(str(each.folder), each.sha256) for each in loaded_plugins()]
    PLUGIN_FILES.clear()
    PLUGIN_FILES.update((module, plugin.files[module]) for module, plugin in _LOADED.items())
    options_changed()


def unload_plugin(plugin: Plugin) -> None:
    """Remove a plugin's options from their axes and its modules from this process."""
    _forget({module: each for module, each in _LOADED.items() if each is plugin}, plugin)


def _declared_packages(modules: Mapping[str, Plugin]) -> list[str]:
    packages = dict.fromkeys(module.rpartition(".")[0] for module in modules)
    return [package for package in packages if package.startswith(DECLARED)]

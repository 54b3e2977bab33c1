"""Which files changed since a ledger was written: those of plugins and of data, of which it has digests alone."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from runners.stages.corpus import CorpusStage
from runners.stages.examples import TaskExamplesStage
from runners.stages.stage import Stage, StageDeclaration, installed_version
from steeplechase.configuration.plugin_folders import recorded_copies
from steeplechase.configuration.plugins import Plugin, PluginError, plugin_of
from steeplechase.foundation.errors import DataError
from steeplechase.foundation.option_modules import imported_name
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.amendments import documents_of
from steeplechase.ledger.database import LedgerRows
from steeplechase.ledger.snapshot import plugin_copies

SOURCES = "sources"
"""In an identity and its arms, the digests of the code of plugins by module."""
LATER_VERSIONS = 3
"""Versions of a stage's code after the present one that a ledger is tried for."""


def with_equal_code(known: JsonValue, wanted: JsonValue) -> tuple[JsonValue, tuple[str, ...]]:
    """Return an identity with the digests of the code that another one wants, and the modules that it changes."""
    if not isinstance(known, dict) or not isinstance(wanted, dict):
        return known, ()
    equal: dict[str, JsonValue] = {}
    changed: dict[str, None] = {}
    for name, value in known.items():
        other = wanted.get(name)
        if name == SOURCES and isinstance(value, dict) and isinstance(other, dict):
            changed |= dict.fromkeys(module for module in value if other.get(module, value[module]) != value[module])
            equal[name] = {module: other.get(module, digest) for module, digest in value.items()}
        else:
            equal[name], below = with_equal_code(value, other)
            changed |= dict.fromkeys(below)
    return equal, tuple(changed)


def changed_code(rows: LedgerRows, modules: Iterable[str]) -> Iterator[str]:
    """Yield one line on the files of modules whose code is not what a ledger's results were computed with."""
    files: list[str] = []
    for module in modules:
        plugin = plugin_of(module)
        files += [module] if plugin is None else map(str, _differing(rows, plugin, module))
    if files:
        yield f"the code of the plugin has changed: {', '.join(dict.fromkeys(files))}; to go on here, restore it"


def _differing(rows: LedgerRows, plugin: Plugin, module: str) -> list[Path]:
    """Return the files that a module uses and that differ from a ledger's copy; without a copy all of them."""
    try:
        copies = recorded_copies(documents_of(rows), plugin_copies(rows.path.parent))
    except PluginError:
        copies = ()
    name = imported_name(module)
    used = plugin.source(name)
    before = [copy.hashes for copy in copies if name in copy.hashes]
    files = [plugin.files[each] for each in used if all(each_of.get(each) != used[each] for each_of in before)]
    return files or [plugin.files[each] for each in used]


def changed_stages(rows: LedgerRows, labels: Sequence[str], stages: Mapping[str, Stage]) -> Iterator[str]:
    """Yield by cause the shared stages whose results are of other data, code or library versions.

    A stage that reads another one of these is not named: it differs by what it reads.
    """
    keys = {record.label: record.key for record in rows.records() if record.trial is None}
    others = {stages[label].key for label in labels}
    found: dict[str, list[str]] = {}
    for label in labels:
        if not any(each.key in others for each in stages[label].inputs.values()):
            found.setdefault(_cause(rows, stages[label], keys[label]), []).append(label)
    for cause, named in found.items():
        yield f"{', '.join(named)}: {cause}"


def _cause(rows: LedgerRows, stage: Stage, key: str) -> str:
    """Return what differs, as far as a stage's key and the libraries of a ledger tell it."""
    declared = stage.declaration
    later = range(1, declared.code_version + LATER_VERSIONS + 1)
    if (version := next((each for each in later if stage.key_at(each) == key), None)) is not None:
        return f"version {version} of its code there, {declared.code_version} here"
    manifest = rows.fact("manifest")
    recorded = manifest.get("libraries") if isinstance(manifest, dict) else None
    there = recorded if isinstance(recorded, dict) else {}
    here = {name: installed_version(name) for name in declared.libraries}
    differing = [
        f"{name} {there[name]} there, {here[name]} here" for name in here if there.get(name, here[name]) != here[name]
    ]
    if differing:
        return f"of other library versions: {'; '.join(differing)}"
    files = _files(declared)
    if files and not declared.uses_kernels and here.keys() <= there.keys():
        return f"{' or '.join(files)} has changed since; to go on here, restore it"
    return "of other data, code or library versions"


def _files(declared: StageDeclaration) -> list[str]:
    """Return the files or the folder that a stage reads; empty where it has none of its own."""
    if isinstance(declared, CorpusStage):
        path = getattr(declared.corpus, "path", None)
        return [str(path)] if path else []
    if not isinstance(declared, TaskExamplesStage) or declared.data is None or declared.downstream.files is None:
        return []
    try:
        return [*dict.fromkeys(map(str, declared.data.located(declared.downstream.files).values()))]
    except DataError:
        return []

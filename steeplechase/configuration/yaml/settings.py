"""Settings of the command line, `--set pretraining.tokens=1e5`: values put over a file's, validated like them."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from steeplechase.configuration.yaml.errors import Location, Mistake, Path
from steeplechase.configuration.yaml.loader import ConfigurationFile
from steeplechase.configuration.yaml.nodes import Entries, Items, Leaf, Node, read_document, relocated
from steeplechase.configuration.yaml.scales import SCALES_KEY
from steeplechase.configuration.yaml.text import unreadable_character
from steeplechase.foundation.errors import ConfigurationError
from steeplechase.foundation.schema import VARIANT_KEY

FLAG = "--set"
VALUE = "value"
READ_BEFORE = {
    SCALES_KEY: "a scale is chosen by --scale",
    "plugins": "plugins are read before any setting; name them in the file",
}


class _Unusable(Exception):
    """A setting that cannot be applied; the message is the reason."""


def with_settings(file: ConfigurationFile, scale: str | None, settings: Sequence[str]) -> ConfigurationFile:
    """Return the file with settings `PATH=VALUE` put over its document at one scale, in the order given.

    A value is YAML in one line, and takes the place of the file's as a whole. Mistakes of a value, here and in
    validation, name the flag in place of file and line. A setting that is malformed or cannot be applied is a mistake
    of the file, which its validation reports with all others.
    """
    if not settings or scale not in file.documents:
        return file
    document, mistakes = file.documents[scale], list[Mistake]()
    for position, setting in enumerate(settings):
        text, origin = setting.partition("=")[2], f"{FLAG} {setting}"
        try:
            keys = _joined(document, _keys(setting, settings[:position]))
            value, found = _value(origin, keys, text)
            mistakes += found
            document = _put(document, value, keys, origin)
        except _Unusable as unusable:
            mistakes.append(Mistake(origin, 0, "", str(unusable)))
    documents = {**file.documents, scale: document}
    return replace(file, documents=documents, mistakes=(*file.mistakes, *mistakes))


def _keys(setting: str, earlier: Sequence[str]) -> tuple[str, ...]:
    path, equals, text = setting.partition("=")
    keys = tuple(path.split("."))
    if not equals or not all(keys) or not text.strip():
        raise _Unusable("a key and a value are needed, such as pretraining.tokens=1e5")
    if keys[0] in READ_BEFORE:
        raise _Unusable(READ_BEFORE[keys[0]])
    if any(path == other.partition("=")[0] for other in earlier):
        raise _Unusable("this key is set twice")
    return keys


def _joined(node: Node | None, keys: tuple[str, ...]) -> tuple[str, ...]:
    """Return the keys, joined where the file has them as one: `convolution.kernel_size` under `design.vary`."""
    if not isinstance(node, Entries) or not keys:
        return keys
    length = next((count for count in range(len(keys), 1, -1) if ".".join(keys[:count]) in node.nodes), 1)
    key = ".".join(keys[:length])
    return (key, *_joined(node.nodes.get(key), keys[length:]))


def _value(origin: str, keys: Path, text: str) -> tuple[Node, tuple[Mistake, ...]]:
    """Return the value as a node located at the flag, and its recoverable mistakes."""
    unreadable = unreadable_character(text)
    if unreadable is not None:
        raise _Unusable(unreadable.message)
    try:
        document, found = read_document(origin, f"{VALUE}: {text}")
    except ConfigurationError as malformed:
        raise _Unusable("; ".join(line.removeprefix(f"{origin}:1: ") for line in malformed.lines)) from None
    mistakes = tuple(Mistake(origin, 0, "", each.message) for each in found)
    return relocated(document.nodes[VALUE], lambda at: Location(0, (*keys, *at.path[1:]), origin)), mistakes


def _put(document: Entries, value: Node, keys: tuple[str, ...], origin: str, depth: int = 0) -> Entries:
    """Return the document with a value at a path, in place of the one there; missing mappings on the way are made."""
    key, path = keys[depth], keys[: depth + 1]
    if depth + 1 < len(keys):
        inner = _as_mapping(document.nodes.get(key), path, origin)
        value = _put(inner, value, keys, origin, depth + 1)
    return Entries(document.location, {**document.nodes, key: value}, document.flawed)


def _as_mapping(node: Node | None, path: Path, origin: str) -> Entries:
    """Return a node as a mapping: an option's name alone stands for a mapping with this kind."""
    if isinstance(node, Entries):
        return node
    if node is None or (isinstance(node, Leaf) and node.value is None):
        return Entries(Location(0, path, origin), {})
    if isinstance(node, Leaf) and isinstance(node.value, str):
        return Entries(node.location, {VARIANT_KEY: node})
    dotted = ".".join(map(str, path))
    what = "a list" if isinstance(node, Items) else "a single value"
    raise _Unusable(f"{dotted} is {what} in the file, without keys; set it as a whole: {FLAG} {dotted}=...")


def changed_keys(settings: Sequence[str]) -> Iterator[str]:
    """Yield each setting by the last word of its key, for the name of a results folder."""
    for setting in settings:
        path, _, value = setting.partition("=")
        yield f"{path.rpartition('.')[2]}={value.strip()}"

"""YAML text to PyYAML nodes: bytes of a file, syntax errors with a correction, limits before a node is made."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import yaml
from pydantic import BaseModel

from steeplechase.configuration.yaml.errors import Mistake, refuse
from steeplechase.configuration.yaml.experiment_files import experiment_files, shown
from steeplechase.foundation.atomic_files import read_regular
from steeplechase.foundation.canonical import canonical
from steeplechase.foundation.errors import ConfigurationError, MachineError, closest

# a key without a space before its value, as in `lr:0.1`, but not `http://…` or `12:30`
GLUED = re.compile(r"[\s{,\[-]*([A-Za-z_][\w-]*:(?=[^\s:/])[^\s,}\]]*)")

SECOND_COLON, BLOCK_MAPPING = "mapping values are not allowed", "while parsing a block mapping"
_PLAIN_MESSAGES = (
    (SECOND_COLON, "a second ':' in one value; quote it, or put the inner key on its own line"),
    ("could not find expected ':'", "a key without ':'; write key: value"),
    ("while scanning a quoted scalar", "the quote opened here is never closed"),
    ("while parsing a flow sequence", "the list opened here lacks a ',' or its ']'"),
    ("while parsing a flow mapping", "the mapping opened here lacks a ',' or its '}'"),
    ("while scanning a double-quoted scalar", 'an unknown escape; double the backslash or use single quotes'),
    ("block sequence entries are not allowed", "a list cannot start here; start it on its own line"),
    (BLOCK_MAPPING, "the indentation fits no line above; align the key with its neighbours"),
    ("while parsing a block collection", "the indentation fits no line above; align the item with its neighbours"),
    ("expected the node content", "a value is missing here, or starts with a character that needs quotes"),
    ("cannot start any token", "a value cannot start with this character; quote it"),
    ("did not find expected <document start>", "text after the end of the document; align it with the first key"),
    ("undefined tag handle", "tags are not allowed; write a plain value, or quote it to make it text"),
    ("incompatible YAML document", "directives (%) are not allowed"),
    ("while scanning a block scalar", "text after | or > starts on the next line"),
    ("while scanning a directive", "directives (%) are not allowed"),
    ("while scanning an anchor", "anchors (&) are not allowed; quote the value if it is text"),
    ("while scanning an alias", "aliases (*) are not allowed; quote the value if it is text"),
)  # fmt: skip
_WHERE_OPENED = ("quote opened", "list opened", "mapping opened")


class Malformed(Exception):
    """An unrecoverable syntax error; the line is counted from 1."""

    def __init__(self, line: int, message: str) -> None:
        self.line = line
        self.message = message
        super().__init__(message)


def malformed_from(error: yaml.MarkedYAMLError, lines: list[str]) -> Malformed:
    """Return the error with a plain message, at the line that needs the correction."""
    marks = [mark for mark in (error.problem_mark, error.context_mark) if mark is not None]
    for line in sorted({min(mark.line, len(lines) - 1) - back for mark in marks for back in (0, 1)}, reverse=True):
        hint = _line_hint(lines[line], line + 1) if line >= 0 else ""
        if hint:
            return Malformed(line + 1, hint)
    complaint = f"{error.context}: {error.problem}"
    words = next((plain for sign, plain in _PLAIN_MESSAGES if sign in complaint), "this is not YAML")
    if SECOND_COLON in complaint or BLOCK_MAPPING in complaint:
        words = _below_a_value(lines, marks[0].line) or words
    opened = words.startswith(tuple(f"the {what}" for what in _WHERE_OPENED))
    mark = marks[-1] if opened else marks[0]
    return Malformed(mark.line + 1, f"column {mark.column + 1}: {words}")


def missing_space(text: str) -> str:
    """Return a hint for a key without a space before its value, empty if there is none."""
    glued = GLUED.match(text)
    if glued is None:
        return ""
    key, _, value = glued[1][:60].partition(":")
    return f"a space is missing after ':'; write {key}: {value}"


def _line_hint(text: str, line: int) -> str:
    tab = re.match(r"[ ]*(?:[\w-]+:[ ]*)?\t", text)
    if tab:
        return f"tab at {line}:{tab.end()}; use spaces"
    return missing_space(text)


def _below_a_value(lines: list[str], number: int) -> str:
    """Return that a line with a key is indented below a key with a value; empty if it is not."""
    above = next((line for line in reversed(lines[:number]) if line.strip() and line.lstrip()[0] != "#"), "")
    outer = re.match(r"( *)([\w.-]+): +[^\s#|>]", above)
    inner = re.match(r"( *)[\w.-]+:", "".join(lines[number : number + 1]))
    if outer is None or inner is None or len(inner[1]) <= len(outer[1]):
        return ""
    return f"this line is indented below {outer[2]!r}, which has a value already; check the indentation of both lines"


BYTES_AT_MOST = 2**20

# YAML 1.2 section 5.1 without the line breaks that editors do not count (NEL, LS, PS), and without the
# bidirectional controls that show a line as something else (Boucher and Anderson 2021, "Trojan Source").
_UNREADABLE = re.compile(
    "[^\t\n\r\x20-\x7e\xa0-\u2027\u202f-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|[\u2066-\u2069\ufeff]"
)


def read_text(path: Path) -> str:
    """Return the file's text without a byte order mark.

    Raises MachineError if the path cannot be read as a regular file, ConfigurationError if the file is
    too large, not UTF-8, or has control characters.
    """
    content = _read_bytes(path)
    if len(content) > BYTES_AT_MOST:
        refuse([Mistake(str(path), 1, "", f"the file is larger than {BYTES_AT_MOST} bytes, the most allowed")])
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        bad = content[error.start]
        line = content.count(b"\n", 0, error.start) + 1
        refuse(
            [
                Mistake(
                    str(path),
                    line,
                    "",
                    f"byte 0x{bad:02x} at offset {error.start} is not UTF-8; save the file as UTF-8",
                )
            ]
        )
    unreadable = unreadable_character(text, len(content) - len(text.encode()))
    if unreadable is not None:
        refuse([Mistake(str(path), unreadable.line, "", unreadable.message)])
    return text


def unreadable_character(text: str, skipped: int = 0) -> Malformed | None:
    """Return the first control character, with its line and its offset after the skipped bytes; None without one."""
    found = _UNREADABLE.search(text)
    if found is None:
        return None
    offset = len(text[: found.start()].encode("utf-8", "surrogatepass")) + skipped
    message = f"the character U+{ord(found[0]):04X} at byte offset {offset} is not allowed; remove it"
    return Malformed(text.count("\n", 0, found.start()) + 1, message)


def _read_bytes(path: Path) -> bytes:
    """Return at most one byte more than the limit; never block on a pipe."""
    try:
        return read_regular(path, BYTES_AT_MOST + 1)
    except OSError as error:
        if isinstance(error, FileNotFoundError):  # a wrong name
            raise ConfigurationError(f"{path}: {error.strerror}{_meant(path)}") from None
        raise MachineError(f"{path}: {error.strerror}") from None
    except ValueError:  # a NUL in the name
        raise MachineError(f"{str(path)!r}: not a file name") from None


def _meant(path: Path) -> str:
    """Return a suggestion of a file with a similar name in the same folder, or of an experiment, or nothing.

    Of equal names the one in the same folder is suggested, else that of the fewest sub-folders.
    """
    known = {Path(name).name: shown(name, file) for name, file in reversed(experiment_files().items())}
    known |= {file.stem: str(file) for file in path.parent.glob("*.yaml")}
    close = closest(path.stem, known)
    return f". Did you mean {known[close]}?" if close is not None else ""


DEPTH_AT_MOST = 32
NODES_AT_MOST = 50_000
CORE_TAGS = "tag:yaml.org,2002:"  # written as `!!`


@dataclass(frozen=True)
class Composed:
    """The document's top node, and messages about nodes that are not allowed, by `id` of the node."""

    top: yaml.Node
    refused: dict[int, str]


def compose(text: str) -> Composed:
    """Return the document's nodes. Raises Malformed unless the text is a single YAML document within the limits."""
    lines = text.splitlines()
    loader = _GuardedLoader(text)
    try:
        if not loader.check_node():
            raise Malformed(1, "the document is empty; an experiment is a mapping of keys to values")
        top = loader.get_node()
        if loader.check_node():
            _, line = loader.upcoming()
            raise Malformed(line, "a second document starts here; a file holds one experiment")
        assert top is not None
        return Composed(top, loader.refused)
    except yaml.MarkedYAMLError as error:
        raise malformed_from(error, lines) from None
    except (ValueError, OverflowError):  # PyYAML's own: an escape or a %YAML version beyond any number
        raise Malformed(loader.line + 1, "an escape or a directive on this line is invalid") from None


class _GuardedLoader(yaml.SafeLoader):
    """Composes nodes, without constructing values; checks each event before its node is made."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.refused: dict[int, str] = {}
        self._depth = 0
        self._nodes = 0

    def upcoming(self) -> tuple[yaml.NodeEvent, int]:
        """Return the next event without consuming it, and its line, counted from 1."""
        event = cast("yaml.NodeEvent", self.peek_event())  # type: ignore[no-untyped-call]
        return event, event.start_mark.line + 1  # type: ignore[union-attr]

    def compose_node(self, parent: yaml.Node | None, index: object) -> yaml.Node | None:
        event, line = self.upcoming()
        self._nodes += 1
        if self._nodes > NODES_AT_MOST:
            raise Malformed(line, f"more than {NODES_AT_MOST} values, the most allowed")
        if self._depth >= DEPTH_AT_MOST:
            raise Malformed(line, f"nested deeper than {DEPTH_AT_MOST} levels")
        refusal = _refusal(event)
        if isinstance(event, yaml.AliasEvent):
            self.get_event()  # type: ignore[no-untyped-call]
            node: yaml.Node | None = yaml.ScalarNode("", "", event.start_mark, event.end_mark)  # type: ignore[arg-type]
        else:
            event.anchor = event.tag = None  # type: ignore[attr-defined]
            self._depth += 1
            node = super().compose_node(parent, index)  # type: ignore[arg-type]
            self._depth -= 1
        if refusal:
            self.refused[id(node)] = refusal
        return node


def _refusal(event: yaml.NodeEvent) -> str:
    if isinstance(event, yaml.AliasEvent):
        return f"the alias *{event.anchor} is not allowed; write the value out"
    if event.anchor is not None:
        return f"the anchor &{event.anchor} is not allowed; write the value out where it is needed"
    tag: str | None = event.tag  # type: ignore[attr-defined]
    if tag is not None:
        return (
            f"the tag {tag.replace(CORE_TAGS, '!!')} is not allowed; write a plain value, or quote it to make it text"
        )
    return ""


WIDTH = 110


def experiment_text(experiment: BaseModel, remark: str) -> str:
    """Return the text of a file that declares the experiment, with a remark of one line above it.

    Plugins are named by their folders as the experiment's own file names them.
    """
    document = canonical(experiment)
    plugins = document.get("plugins")
    if isinstance(plugins, list):
        document["plugins"] = [plugin["path"] if isinstance(plugin, dict) else plugin for plugin in plugins]
    plain = json.loads(json.dumps(document, ensure_ascii=False))  # YAML has no enumerations
    return f"# {remark}\n{yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, width=WIDTH)}"

"""The bytes of a configuration file as text, refused before any parser sees them."""

import re
from pathlib import Path

from configuration.yaml.errors import Mistake, refuse
from foundation.atomic_files import read_regular
from foundation.errors import MachineError, closest

BYTES_AT_MOST = 2**20
EXPERIMENTS = "experiments"  # where the project's questions lie, from its root

# YAML 1.2 section 5.1 without the line breaks that editors do not count (NEL, LS, PS), and without the
# bidirectional controls that show a line as something else (Boucher and Anderson 2021, "Trojan Source").
_UNREADABLE = re.compile(
    "[^\t\n\r\x20-\x7e\xa0-\u2027\u202f-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|[\u2066-\u2069\ufeff]"
)


def read_text(path: Path) -> str:
    """Return the file's text without a byte order mark.

    Raises MachineError where the path cannot be read as a regular file, ConfigurationError where its
    bytes are too many, not UTF-8, or hold control characters.
    """
    content = _read_bytes(path)
    if len(content) > BYTES_AT_MOST:
        refuse([Mistake(str(path), 1, "", f"the file is larger than {BYTES_AT_MOST} bytes, the most allowed")])
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        bad = content[error.start]
        line = content.count(b"\n", 0, error.start) + 1
        refuse([Mistake(str(path), line, "", f"byte 0x{bad:02x} at offset {error.start} is not UTF-8")])
    unreadable = _UNREADABLE.search(text)
    if unreadable:
        start = unreadable.start()
        offset = len(text[:start].encode()) + len(content) - len(text.encode())
        message = f"the character U+{ord(unreadable[0]):04X} at byte offset {offset} is not allowed; remove it"
        refuse([Mistake(str(path), text.count("\n", 0, start) + 1, "", message)])
    return text


def _read_bytes(path: Path) -> bytes:
    """Return at most one byte more than is allowed; never wait for a pipe's other end."""
    try:
        return read_regular(path, BYTES_AT_MOST + 1)
    except OSError as error:
        meant = _meant(path) if isinstance(error, FileNotFoundError) else ""
        raise MachineError(f"{path}: {error.strerror}{meant}") from None
    except ValueError:  # a NUL in the name
        raise MachineError(f"{str(path)!r}: not a file name") from None


def _meant(path: Path) -> str:
    """Return the file of nearly that name, beside where it was looked for or among the experiments, as a question."""
    there = {file.stem: file for folder in (Path(EXPERIMENTS), path.parent) for file in folder.glob("*.yaml")}
    close = closest(path.stem, there)
    return f". Did you mean {there[close]}?" if close is not None else ""

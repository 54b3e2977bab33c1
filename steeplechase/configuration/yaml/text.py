"""Reads a configuration file as text, with checks of size, encoding and control characters before parsing."""

import re
from pathlib import Path

from steeplechase.configuration.yaml.errors import Mistake, refuse
from steeplechase.configuration.yaml.experiment_files import experiment_files, shown
from steeplechase.configuration.yaml.syntax import Malformed
from steeplechase.foundation.atomic_files import read_regular
from steeplechase.foundation.errors import MachineError, closest

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
        refuse([Mistake(str(path), line, "", f"byte 0x{bad:02x} at offset {error.start} is not UTF-8")])
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
        meant = _meant(path) if isinstance(error, FileNotFoundError) else ""
        raise MachineError(f"{path}: {error.strerror}{meant}") from None
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

"""Reads lines of UTF-8 text from plain, gzip and xz files; errors name file, line and byte offset."""

import codecs
import gzip
import hashlib
import json
import lzma
import re
import zlib
from collections.abc import Iterator
from functools import partial
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO

from steeplechase.foundation.atomic_files import open_regular, read_regular
from steeplechase.foundation.errors import DataError

MAXIMUM_LINE_BYTES = 16 * 2**20
MAXIMUM_EXPANSION = 200  # text compresses 3 to 10 times; thousands of times is a decompression bomb
MAXIMUM_DOCUMENT_BYTES = 2**27  # of a file that is parsed as a whole; the largest published curves have 2**26
UNCHECKED_BYTES = 2**20  # a tiny file may expand by any ratio up to this size
MAXIMUM_LINES_PER_BYTE = 2  # of a packed file; lines of text take 5 packed bytes and more, points of a curve too
UNCHECKED_LINES = 2**20
CHUNK_BYTES = 2**16

DAMAGED = (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error)
"""Errors of reading a damaged archive."""

PACKED = (".gz", ".xz")
BOMB = "a decompression bomb?"
NO_MEMORY = "needs more memory than this process may have"
ARRAY = re.compile(r"\s*\[\s*(\{|$)")
"""First line of a JSON array of objects, whether these begin in it or below."""

_SIGNATURES = {
    b"\x1f\x8b": ".gz",
    b"\xfd7zXZ\x00": ".xz",
    b"PAR1": ".parquet",
    b"PK\x03\x04": ".zip",
    b"(\xb5/\xfd": ".zst",
    b"BZh": ".bz2",
}


def check_signature(path: Path, name: str, suffix: str) -> None:
    """Raise DataError if the first bytes of a file contradict its suffix."""
    start = read_regular(path, 8)
    signature_suffix = next((kind for signature, kind in _SIGNATURES.items() if start.startswith(signature)), "")
    expected = suffix if suffix in _SIGNATURES.values() else ""
    if signature_suffix != expected:
        wanted = f"{expected} data" if expected else "plain text"
        actual = f"{signature_suffix} data" if signature_suffix else "something else"
        raise DataError(f"{name}: the suffix {suffix or '(none)'} promises {wanted}, the first bytes are {actual}")


def check_packed_signature(path: Path, name: str) -> None:
    """Check the first bytes of a text of any suffix, which `.gz` or `.xz` may follow. Raises DataError."""
    check_signature(path, name, path.suffix if path.suffix in PACKED else "")


def text_lines(path: Path, name: str, encoding: str = "utf-8") -> Iterator[tuple[int, str]]:
    """Yield (line number from 1, line without its end); `name` is the name of the file in messages.

    Raises DataError for bytes of another encoding, NUL bytes, lines over 16 MiB, damaged or explosive archives, and
    OSError for a path that is no readable file.
    """
    offset, checked, most = 0, 0, MAXIMUM_LINES_PER_BYTE * path.stat().st_size if path.suffix in PACKED else None
    with open_regular(path) as stored, unpacked(stored, path.suffix) as file:
        try:
            for number, raw in enumerate(iter(partial(file.readline, MAXIMUM_LINE_BYTES), b""), start=1):
                yield number, "" if raw == b"\n" else _decoded(raw, name, number, offset, encoding)
                offset += len(raw)
                if most is not None and offset > checked + CHUNK_BYTES:
                    checked = offset
                    _refuse_explosion(name, stored, offset)
                    if number > max(UNCHECKED_LINES, most):
                        raise DataError(f"{name}: more than {MAXIMUM_LINES_PER_BYTE} lines per byte; {BOMB}")
        except MemoryError as lack:
            raise DataError(f"{name}: {NO_MEMORY}") from lack
        except DAMAGED as damage:
            raise DataError(f"{name}: damaged archive after {offset} bytes of text: {damage}") from damage
        except OSError as failure:
            raise DataError(f"{name}: cannot be read after {offset} bytes of text: {failure.strerror}") from failure


def whole_text(path: Path, name: str) -> str:
    """Return the text of a file, unpacked as its suffix says.

    Raises DataError for more than 128 MiB, or an explosive archive; OSError, and what a damaged archive raises
    (`DAMAGED`, UnicodeDecodeError).
    """
    content = bytearray()
    try:
        with open_regular(path) as stored, unpacked(stored, path.suffix) as file:
            while chunk := file.read(CHUNK_BYTES):
                content += chunk
                if path.suffix in PACKED:
                    _refuse_explosion(name, stored, len(content))
                if len(content) > MAXIMUM_DOCUMENT_BYTES:
                    raise DataError(
                        f"{name}: more than {MAXIMUM_DOCUMENT_BYTES} bytes when unpacked, the most that is read"
                    )
        return content.decode("utf-8-sig")
    except MemoryError as lack:
        raise DataError(f"{name}: {NO_MEMORY}") from lack


def json_of_line(line: str) -> object:
    """Return the value of a line of JSON. Raises ValueError with the reason, also for text that UTF-8 cannot hold."""
    try:
        value = json.loads(line)
        if "\\u" in line:  # half of a surrogate pair, written as an escape
            json.dumps(value, ensure_ascii=False).encode()
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except UnicodeEncodeError as half:
        code = ord(half.object[half.start])
        raise ValueError(f"\\u{code:04x} is half of a surrogate pair and no character") from None
    return value


def refuse_array(name: str, number: int, line: str) -> None:
    """Raise DataError where a file of JSON lines begins with an array, as a file that is one JSON document does."""
    if number == 1 and ARRAY.match(line):
        raise DataError(f"{name}:1: a JSON array, expected one object a line, as jq -c '.[]' FILE writes them")


def unpacked(file: BinaryIO, suffix: str) -> BinaryIO | BufferedReader:
    """Return a file whose bytes are those of another one, unpacked as its suffix says.

    Lines are divided by a buffer in C: those of the unpackers are Python functions, called once a line.
    """
    if suffix == ".gz":
        return BufferedReader(gzip.GzipFile(fileobj=file))
    if suffix == ".xz":
        return BufferedReader(lzma.LZMAFile(file))
    return file


def _decoded(raw: bytes, name: str, number: int, offset: int, encoding: str) -> str:
    if offset == 0 and raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise DataError(f"{name}:1: UTF-16 text; convert the file to UTF-8, with iconv -f utf-16 -t utf-8")
    if len(raw) >= MAXIMUM_LINE_BYTES:
        raise DataError(
            f"{name}:{number}: a line longer than {MAXIMUM_LINE_BYTES} bytes; break it between paragraphs"
        )
    if b"\x00" in raw:
        position = offset + raw.index(b"\x00")
        raise DataError(f"{name}:{number}: a NUL byte at byte offset {position}; this is not plain text")
    try:
        return raw.decode("utf-8-sig" if encoding == "utf-8" and offset == 0 else encoding).rstrip("\r\n")
    except UnicodeDecodeError as wrong:
        byte = raw[wrong.start]
        raise DataError(
            f"{name}:{number}: byte 0x{byte:02x} at byte offset {offset + wrong.start} is not UTF-8; "
            "convert the file, for instance with iconv -f latin1 -t utf-8"
        ) from wrong


def _refuse_explosion(name: str, stored: BinaryIO, size: int) -> None:
    """Raise DataError where `size` bytes came of the few that were read of a packed file."""
    if size > UNCHECKED_BYTES and size > MAXIMUM_EXPANSION * stored.tell():
        raise DataError(f"{name}: expands more than {MAXIMUM_EXPANSION} times; {BOMB}")


def file_hash(path: Path, name: str, *, is_text: bool) -> str:
    """Return the sha256 of a file. Raises DataError where a plain text has other bytes, as reading it would."""
    decoder, found, sound = codecs.getincrementaldecoder("utf-8")(), hashlib.sha256(), True
    try:
        with path.open("rb") as file:
            while chunk := file.read(CHUNK_BYTES):
                found.update(chunk)
                if is_text:
                    decoder.decode(chunk)
                    sound &= b"\0" not in chunk
            decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        sound = False
    except OSError as failure:
        raise DataError(f"{name}: {failure.strerror}") from failure
    if sound:
        return found.hexdigest()
    for _ in text_lines(path, name):  # raises with line and offset
        pass
    raise DataError(f"{name}: was changed while it was read")

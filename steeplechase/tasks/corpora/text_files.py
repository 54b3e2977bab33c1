"""A corpus from local files: txt, WikiExtractor output, jsonl (plain, gzip or xz) and parquet."""

import os
import re
import stat
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from steeplechase.foundation.atomic_files import read_regular
from steeplechase.foundation.errors import DataError, closest, first_lines
from steeplechase.foundation.schema import JsonValue
from steeplechase.tasks.corpora.assembly import MINIMUM_CHARACTERS, is_enough, other_seed
from steeplechase.tasks.corpora.document import Document
from steeplechase.tasks.corpora.file_lines import PACKED as COMPRESSIONS
from steeplechase.tasks.corpora.file_lines import check_signature, file_hash, json_of_line, refuse_array, text_lines
from steeplechase.tasks.corpora.option import CorpusOption
from steeplechase.tasks.corpora.parquet import parquet_columns, parquet_rows
from steeplechase.tasks.data_folder import missing, resolved, similar_name
from steeplechase.tasks.progress import Progress, place

DOCUMENT_CHARACTERS = 1000  # a plain text is cut at the first blank line after this many characters
LONGEST_DOCUMENT_CHARACTERS = 4000  # and at any line end after this many
DOCUMENTS_PER_SECTION = 5  # neighbouring paragraphs share a source and therefore a split
TEXT_COLUMN = "text"

_ARTICLE_START = re.compile(r'<doc id="([^"]*)".*? title="([^"]*)"')


def _plain(path: Path, name: str) -> Iterator[Document]:
    """Yield WikiExtractor articles, each its own source, or groups of paragraphs, five to a source."""
    article: re.Match[str] | None = None
    lines: list[str] = []
    characters = sections = 0
    for _, line in text_lines(path, name):
        start = _ARTICLE_START.match(line)
        ends = start is not None or (article is not None and line.strip() == "</doc>")
        if article is None and not ends:
            ends = characters >= (LONGEST_DOCUMENT_CHARACTERS if line.strip() else DOCUMENT_CHARACTERS)
        if ends:
            yield from _document(name, article, sections, lines)
            sections += article is None and bool(lines)
            article, lines, characters = start, [], 0
        if start is None and not (ends and line.strip() == "</doc>"):
            lines.append(line)
            characters += len(line)
    yield from _document(name, article, sections, lines)


def _document(name: str, article: re.Match[str] | None, sections: int, lines: list[str]) -> Iterator[Document]:
    text = "\n".join(lines).strip()
    if not text:
        return
    if article is not None:
        yield Document(f"{name}#{article.group(1)}", text, article.group(2))
    else:
        yield Document(f"{name}#{sections // DOCUMENTS_PER_SECTION}", text)


def _json_lines(path: Path, name: str) -> Iterator[Document]:
    for number, line in text_lines(path, name):
        if not line.strip():
            continue
        refuse_array(name, number, line)
        try:
            row = json_of_line(line)
        except ValueError as wrong:
            raise DataError(f"{name}:{number}: not JSON: {wrong}") from wrong
        text = row.get(TEXT_COLUMN) if isinstance(row, dict) else None
        if not isinstance(text, str):
            found = _found("fields", [*row]) if isinstance(row, dict) and TEXT_COLUMN not in row else ""
            raise DataError(f'{name}:{number}: needs an object with a text under "{TEXT_COLUMN}"{found}')
        if text.strip():
            yield Document(f"{name}#{number}", text.strip())


def _found(what: str, names: Sequence[str]) -> str:
    close = closest(TEXT_COLUMN, names)
    remedy = f"rename {close!r}?" if close else f"rename one {TEXT_COLUMN!r}"
    return f"; {what} found: {', '.join(names)}; {remedy}"


def _parquet(path: Path, name: str) -> Iterator[Document]:
    columns = parquet_columns(path, name)
    if TEXT_COLUMN not in columns:
        raise DataError(f"{name}: no column {TEXT_COLUMN!r}{_found('columns', columns)}")
    for row, (text,) in enumerate(parquet_rows(path, name, [TEXT_COLUMN]), start=1):
        if not isinstance(text, str):
            shown = "null" if text is None else f"a value of type {type(text).__name__}"
            raise DataError(f"{name}: row {row}: {TEXT_COLUMN}: {shown}, expected a text")
        if text.strip():
            yield Document(f"{name}#{row}", text.strip())


Reader = Callable[[Path, str], Iterator[Document]]
READERS: dict[str, Reader] = {".jsonl": _json_lines, ".ndjson": _json_lines, ".txt": _plain, ".parquet": _parquet}


READING_VERSION = 1  # incremented when the documents of the same files change
PACKED = (*COMPRESSIONS, ".parquet")  # whose bytes are not those of the text
FEWEST_CHARACTERS = sum(MINIMUM_CHARACTERS.values())
READING = "reading text files"
EXTRACTED = b"<doc id="
WANTED = (
    "the corpus is your own text: WikiExtractor output, .txt, .jsonl or .parquet, one file or a folder of them, "
    "at the path that the experiment's `corpus` names; a relative path begins at the working directory, or "
    "else at the folder of the experiment's file"
)


class TextFilesCorpus(CorpusOption):
    """A file, or every file under a folder in the order of its names; hidden files are left out."""

    examples: ClassVar[tuple[Mapping[str, JsonValue], ...]] = ()

    kind: Literal["text_files"] = "text_files"
    """Chooses files on this machine."""
    path: str = Field(min_length=1, examples=["text"])
    """A file or a folder: .txt, WikiExtractor output, .jsonl or .ndjson (each also .gz or .xz), .parquet.

    A relative path begins at the working directory, or, if there is nothing, at the folder of the experiment's file.
    `~` and `$NAME` are the home folder and variables; `$STEEPLECHASE_DATA` at its beginning is the folder of
    published data sets, `data` where the variable is unset.
    """

    split_by: Literal["section", "file"] = "section"
    """What is never divided between train, validation and test.

    `section`: an article, a row, or five pieces of a .txt, so that a book can be in several splits. `file`: a file,
    for books and other files of one hand.
    """

    def inputs(self) -> JsonValue:
        """Return the sha256 of every file with its name relative to the folder.

        Raises DataError for bytes of a plain file that are not UTF-8, which `plan` finds by this, and like reading.
        """
        hashes = {
            name: file_hash(path, name, is_text=path.suffix not in PACKED) for name, path in self._files().items()
        }
        return {"kind": self.kind, "reading_version": READING_VERSION, "files": dict(hashes)}

    def documents(self, progress: Progress) -> Generator[Document, None, int]:
        """Yield the documents of every file; return 0, since no file is skipped.

        Raises DataError, naming file, line and byte offset, for anything that cannot be read as text.
        """
        files = self._files()
        sizes = [path.stat().st_size for path in files.values()]
        for index, (name, path) in enumerate(files.items()):
            position = f"{place(READING, 'file', index + 1, len(files))}, {name}"
            before, characters = sum(sizes[:index]), 0
            for document in READERS[_content_suffix(path) or ".txt"](path, name):
                progress(position, (before + min(characters, sizes[index])) / sum(sizes))
                characters += len(document.text)
                yield replace(document, source=name) if self.split_by == "file" else document
        progress(READING, 1.0)
        return 0

    def check_exists(self) -> None:
        """Raise DataError if there is no such file or folder, too little text by its size, or rows without texts.

        Of a file of rows nothing is read beyond its first text.
        """
        if "://" in self.path:
            return
        if not (root := resolved(self.path)).exists():
            raise missing(f"{root}: no such file or folder; {WANTED}{similar_name(root)}")
        files = self._files()
        size = _bytes_of(files.values())
        if size is not None and size < FEWEST_CHARACTERS:
            raise DataError(
                f"{root}: {size:,} bytes of text are too few for a corpus; with its three splits it needs more than "
                f"{FEWEST_CHARACTERS:,} characters"
            )
        _refuse_all(root, (_mistake_of_rows(name, path) for name, path in files.items()))
        if self.split_by == "file" and size is not None:
            self._refuse_few(root, {name: path.stat().st_size for name, path in files.items()})

    def _refuse_few(self, root: Path, sizes: Mapping[str, int]) -> None:
        """Raise DataError if whole files leave a split too small, whatever is in them."""
        if not is_enough(sizes, self.split_seed):
            other = other_seed(sizes, self.split_seed)
            remedy = "add files (some fifty are needed)" if other is None else f"write split_seed: {other}"
            raise DataError(
                f"{root}: with split_by: file each of the {len(sizes)} files is in one split, and one of train, "
                f"validation and test has too little text; {remedy}, or leave split_by out"
            )

    def bytes_of_text(self) -> int | None:
        """Return the size of the files together; None if one is packed or none can be read."""
        try:
            return _bytes_of(self._files().values())
        except DataError:  # an error elsewhere
            return None

    def _files(self) -> dict[str, Path]:
        root = resolved(self.path)
        if "://" in self.path:
            raise DataError(f"{self.path}: a corpus of text files is a local path, not an address")
        try:
            mode = root.stat().st_mode
        except FileNotFoundError:
            raise missing(f"{root}: no such file or folder; {WANTED}{similar_name(root)}") from None
        except OSError as failure:
            raise DataError(f"{root}: {failure.strerror}") from failure
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise DataError(f"{root}: neither a file nor a folder")
        files = {root.name: root} if stat.S_ISREG(mode) else dict(_files_below(root))
        if not files:
            raise DataError(f"{root}: the folder holds no files")
        _refuse_all(root, (_mistake(name, path) for name, path in files.items()))
        return files


def _refuse_all(root: Path, of_files: Iterator[str | None]) -> None:
    if mistakes := [mistake for mistake in of_files if mistake]:
        raise DataError(first_lines(mistakes, lambda more: f"{root}: {more} more such files"))


def _bytes_of(files: Collection[Path]) -> int | None:
    packed = any(path.suffix in PACKED for path in files)
    return None if packed else sum(path.stat().st_size for path in files)


def _files_below(root: Path) -> Iterator[tuple[str, Path]]:
    """Yield the files under a folder by name. Raises DataError if a folder or a file cannot be accessed."""
    resolved_root = root.resolve()
    for path in sorted(_paths_below(root)):
        name = path.relative_to(root).as_posix()
        try:
            mode = path.stat().st_mode  # of a loop of links an error, so that `resolve` never sees one
        except OSError as failure:
            raise DataError(f"{name}: {failure.strerror}") from failure
        if path.is_symlink() and not path.resolve().is_relative_to(resolved_root):
            raise DataError(f"{name}: a symbolic link out of the corpus folder is not followed")
        if stat.S_ISREG(mode):
            yield name, path


def _paths_below(root: Path) -> Iterator[Path]:
    """Yield the paths under a folder without hidden names; unlike `rglob`, reports folders that cannot be listed."""

    def refuse(failure: OSError) -> None:
        raise DataError(f"{failure.filename}: {failure.strerror}") from failure

    for folder, subfolders, names in os.walk(root, onerror=refuse):
        subfolders[:] = [name for name in subfolders if not name.startswith(".")]
        yield from (Path(folder, name) for name in (*subfolders, *names) if not name.startswith("."))


def _content_suffix(path: Path) -> str:
    """Return the suffix of the content, which a suffix of compression may follow; empty if there is none."""
    suffix = Path(path.stem).suffix if path.suffix in COMPRESSIONS else path.suffix
    return suffix if suffix.lower() in PACKED else suffix.lower()


def _mistake(name: str, path: Path) -> str | None:
    """Return why a file is not read, None if it is."""
    suffix = _content_suffix(path)
    try:
        if any("\ud800" <= character <= "\udfff" for character in name):  # how Python shows bytes of no encoding
            return f"{name!r}: the name of this file is not UTF-8; rename it"
        if path.stat().st_size == 0:
            return f"{name}: the file is empty"
        check_signature(path, name, path.suffix)
        # WikiExtractor's output has no suffix
        if suffix in READERS or (not suffix and (path.suffix or read_regular(path, len(EXTRACTED)) == EXTRACTED)):
            return None
    except OSError as failure:
        return f"{name}: {failure.strerror}"
    except DataError as refusal:
        return refusal.lines[0]
    shown = f"unknown suffix {suffix!r}" if suffix else "no suffix, and no output of WikiExtractor"
    known = f"known are .txt and .jsonl, both also with {' or '.join(COMPRESSIONS)}, and .parquet"
    convert = "write it with `to_parquet` of datasets" if suffix == ".arrow" else "convert it"
    return f"{name}: {shown}; {known}; {convert}, or move it out of the folder"


def _mistake_of_rows(name: str, path: Path) -> str | None:
    """Return why the rows of a file, up to its first text, are no texts; None if they are, or it has no rows."""
    suffix = _content_suffix(path)
    if suffix in ("", ".txt"):
        return None
    try:
        first = next(READERS[suffix](path, name), None)
    except DataError as refusal:
        return refusal.lines[0]
    return None if first is not None else f"{name}: no row has a text under {TEXT_COLUMN!r}"

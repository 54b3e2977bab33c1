"""Corpus assembly: deduplicates a corpus and splits it by source into three files; deterministic.

Exact and near duplicates: shingles as in Broder 1997, sampled at anchor words so that one pass suffices.

A document is an exact duplicate if an earlier document has the same words in the same order, ignoring case, digits
and punctuation, or, if it has no words, the same characters. It is a near duplicate if at least 80 % of its sampled
six-word shingles occur in accepted documents. A shingle is sampled if its first word is an anchor: about one word in
four, chosen by a hash of the word. Documents with fewer than eight sampled shingles are tested for exact duplicates
only.
"""

import hashlib
import json
import re
import zlib
from collections import Counter
from collections.abc import Generator, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Literal, Protocol, get_args

from steeplechase.foundation.canonical import canonical_text
from steeplechase.foundation.environment import garbage_uncollected
from steeplechase.foundation.errors import CorruptionError, DataError
from steeplechase.foundation.schema import Schema
from steeplechase.tasks.corpora.document import Document
from steeplechase.tasks.progress import Progress

Split = Literal["train", "validation", "test"]
SPLITS: tuple[Split, ...] = get_args(Split)

VALIDATION_PERCENT = 4
TEST_PERCENT = 10  # source of the downstream tasks; the train split has the remaining 86
MINIMUM_CHARACTERS = {"train": 20_000, "validation": 500, "test": 500}
SUMMARY_FILE = "corpus.json"
TOO_SMALL = (
    "the corpus is too small for its three splits; a split is drawn by source, so more sources are needed "
    "(a .txt is divided at line ends, an article or a row never):"
)


ANOTHER_SPLIT = "a split of the corpus is too small, because it is drawn by source; another one is large enough:"
SEEDS_TRIED = 20
"""Values of `split_seed` of which one is suggested where the split is too small."""


class ReadableCorpus(Protocol):
    """Interface of a corpus: documents in a fixed order; the generator returns the number of unreadable files."""

    @property
    def split_seed(self) -> int: ...  # noqa: D102

    def documents(self, progress: Progress) -> Generator[Document, None, int]: ...  # noqa: D102


class SplitSize(Schema):
    """Documents, characters and sources of one split."""

    documents: int
    characters: int
    sources: int


class CorpusSummary(Schema):
    """Summary of an assembled corpus; `content_hash` is the sha256 over the three files in order."""

    content_hash: str
    splits: dict[Split, SplitSize]
    exact_duplicates: int
    near_duplicates: int
    unreadable_files: int


def split_of(source: str, seed: int = 0) -> Split:
    """Return the split of a source, by a hash of its name and the seed: 86 % train, 4 % validation, 10 % test."""
    named = f"split:{source}" if seed == 0 else f"split {seed}:{source}"
    percent = int.from_bytes(hashlib.sha256(named.encode()).digest()[:8], "big") % 100
    if percent < TEST_PERCENT:
        return "test"
    return "validation" if percent < TEST_PERCENT + VALIDATION_PERCENT else "train"


def assemble(corpus: ReadableCorpus, folder: Path, progress: Progress) -> CorpusSummary:
    """Write train.jsonl, validation.jsonl, test.jsonl and corpus.json into an existing folder.

    Raises DataError if a split is too small, with the sizes of all splits.
    """
    sources: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    hashes = {split: hashlib.sha256() for split in SPLITS}
    files = {split: split_file(folder, split).open("wb") for split in SPLITS}
    try:
        for document in _distinct(corpus, counts, progress):
            split = split_of(document.source, corpus.split_seed)
            line = canonical_text({key: value for key, value in asdict(document).items() if value is not None})
            encoded = line.encode() + b"\n"
            files[split].write(encoded)
            hashes[split].update(encoded)
            sources[document.source] += len(document.text)
            counts[f"{split} documents"] += 1
            counts[f"{split} characters"] += len(document.text)
    finally:
        for file in files.values():
            file.close()
    content = hashlib.sha256("".join(hashes[split].hexdigest() for split in SPLITS).encode()).hexdigest()
    summary = _summary(content, counts, sources, corpus.split_seed)
    _check_sizes(summary, sources, corpus.split_seed)
    (folder / SUMMARY_FILE).write_text(json.dumps(summary.model_dump(), indent=2, sort_keys=True) + "\n")
    return summary


def _distinct(corpus: ReadableCorpus, counts: Counter[str], progress: Progress) -> Iterator[Document]:
    duplicates = DuplicateFilter()
    reading = corpus.documents(progress)
    while True:
        try:
            with (
                garbage_uncollected()
            ):  # syntax trees have no cycles; to look for them takes a quarter of the reading
                document = next(reading)
        except StopIteration as end:
            counts["unreadable"] = end.value
            return
        duplicate = duplicates.classify(document.text)
        counts[duplicate] += 1
        if duplicate == "new":
            yield document


def _summary(content_hash: str, counts: Counter[str], sources: Counter[str], seed: int) -> CorpusSummary:
    of_split = Counter(split_of(source, seed) for source in sources)
    splits: dict[Split, SplitSize] = {
        split: SplitSize(
            documents=counts[f"{split} documents"],
            characters=counts[f"{split} characters"],
            sources=of_split[split],
        )
        for split in SPLITS
    }
    return CorpusSummary(
        content_hash=content_hash,
        splits=splits,
        exact_duplicates=counts["exact"],
        near_duplicates=counts["near"],
        unreadable_files=counts["unreadable"],
    )


def _check_sizes(summary: CorpusSummary, sources: Mapping[str, int], seed: int) -> None:
    """Raise DataError if a split is too small; `sources` has the characters of each source."""
    sizes, duplicates = summary.splits, summary.exact_duplicates + summary.near_duplicates
    if all(sizes[split].characters >= MINIMUM_CHARACTERS[split] for split in SPLITS):
        return
    other = other_seed(sources, seed)
    left_out = f"  left out: {duplicates} documents whose texts are equal or nearly equal to those of others"
    raise DataError(
        [TOO_SMALL if other is None else f"{ANOTHER_SPLIT} write split_seed: {other} in `corpus`. This one has:"]
        + [
            f"  {split}: {size.characters} characters in {size.documents} documents of {size.sources} sources, "
            f"at least {MINIMUM_CHARACTERS[split]} characters are needed"
            for split, size in sizes.items()
        ]
        + ([left_out] if duplicates else [])
    )


def other_seed(sources: Mapping[str, int], seed: int) -> int | None:
    """Return a split seed with which each split has enough text, None if none of the first ones has."""
    return next((each for each in range(SEEDS_TRIED) if each != seed and is_enough(sources, each)), None)


def is_enough(sources: Mapping[str, int], seed: int) -> bool:
    """Return whether each split of a seed has enough characters; `sources` has those of each source, or more."""
    characters: Counter[Split] = Counter()
    for source, count in sources.items():
        characters[split_of(source, seed)] += count
    return all(characters[split] >= MINIMUM_CHARACTERS[split] for split in SPLITS)


def split_file(folder: Path, split: Split) -> Path:
    """Return the path of a split in an assembled corpus."""
    return folder / f"{split}.jsonl"


def read_documents(folder: Path, split: Split) -> Iterator[Document]:
    """Yield the documents of one split in their order; raises CorruptionError at a malformed line."""
    path = split_file(folder, split)
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            try:
                yield Document(**json.loads(line))
            except (ValueError, TypeError) as damage:
                raise CorruptionError(f"{path.name}:{number}: not a document: {damage}") from damage


def read_summary(folder: Path) -> CorpusSummary:
    """Return the summary of an assembled corpus; raises CorruptionError if it cannot be read."""
    try:
        return CorpusSummary.model_validate_json((folder / SUMMARY_FILE).read_text())
    except (OSError, ValueError) as damage:
        raise CorruptionError(f"{SUMMARY_FILE}: {damage}") from damage


SHINGLE_WORDS = 6
ANCHORS_ONE_IN = 4
SEEN_SHARE = 0.8
FEWEST_SHINGLES = 8

_WORD = re.compile(r"[^\W\d_]+")


class _Anchors(dict[str, bool]):
    def __missing__(self, word: str) -> bool:
        anchor = self[word] = zlib.crc32(word.encode()) % ANCHORS_ONE_IN == 0
        return anchor


class DuplicateFilter:
    """Index of the accepted documents; about 100 bytes per 30 words."""

    def __init__(self) -> None:
        self._texts: set[bytes] = set()
        self._shingles: set[int] = set()
        self._anchors = _Anchors()

    def classify(self, text: str) -> Literal["new", "exact", "near"]:
        """Return `new`, `exact` or `near`; a new text is added to the index."""
        words = _WORD.findall(text.lower())
        digest = hashlib.blake2b(" ".join(words or text.split()).encode(), digest_size=12).digest()
        if digest in self._texts:
            return "exact"
        self._texts.add(digest)
        anchors = self._anchors
        shingles = {
            zlib.crc32(" ".join(words[start : start + SHINGLE_WORDS]).encode())
            for start in range(len(words) - SHINGLE_WORDS + 1)
            if anchors[words[start]]
        }
        if len(shingles) >= FEWEST_SHINGLES and len(shingles & self._shingles) >= SEEN_SHARE * len(shingles):
            return "near"
        self._shingles |= shingles
        return "new"

"""The encoded examples of every form beside classified texts: tagged words, text pairs, choices, minimal pairs.

Tagged words: the first subword represents a word, as in BERT (Devlin et al. 2018, arXiv 1810.04805, section 5.3).
Text pairs: [CLS] source [SEP] for an encoder, and the target with its end. Multiple choices: one sequence [CLS]
context [SEP] ending [SEP] per ending (section 4.4 there). Minimal pairs: two sequences (BLiMP, arXiv 1912.00582).
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from steeplechase.foundation.errors import damage_refused
from steeplechase.tasks.labelled.encoding import (
    EncodedExamples,
    IntegerArray,
    encode_examples,
    load_array,
    load_examples,
    save_examples,
)
from steeplechase.tasks.labelled.task import Example
from steeplechase.tasks.tokenizer import Tokenizer

NO_POSITION = -1  # of a word that was truncated, or that has no subwords
WORDS_FILE = "words.npy"
OUTSIDE = "O"  # tag of a word outside all entities
TARGETS_FILE, LENGTHS_FILE, TEXTS_FILE = "targets.npy", "target_lengths.npy", "texts.json"
GROUPS_FILE = "groups.json"
SPECIAL_TOKENS = 3  # [CLS] context [SEP] ending [SEP]


@dataclass(frozen=True)
class EncodedWords:
    """Encoded sentences and their words, in order."""

    sequences: EncodedExamples
    words: IntegerArray  # [word 3]; sequence, position of the first subword or -1, tag

    @property
    def tags(self) -> list[int]:
        """The tag of every word, an index into the task's labels."""
        return [int(tag) for tag in self.words[:, 2]]

    @property
    def sentences(self) -> list[int]:
        """The sequence of every word."""
        return [int(sentence) for sentence in self.words[:, 0]]

    def targets(self, no_tag: int) -> IntegerArray:
        """Return the tag of every token [sequence length]: a word's on its first subword, `no_tag` on all others."""
        targets = np.full(self.sequences.tokens.shape, no_tag, dtype=np.int32)
        sequence, position, tag = np.asarray(self.words)[np.asarray(self.words)[:, 1] != NO_POSITION].T
        targets[sequence, position] = tag
        return targets

    def default_tag(self, labels: Sequence[str]) -> int:
        """Return the tag of words without a position: `O`, no entity; the most frequent tag if there is no `O`.

        So the entities of truncated words are missed.
        """
        return labels.index(OUTSIDE) if OUTSIDE in labels else int(np.bincount(self.words[:, 2]).argmax())


def encode_words(examples: Sequence[Example], tokenizer: Tokenizer, length: int) -> EncodedWords:
    """Return tagged sentences encoded to `length` tokens; truncated words have no position.

    Raises ValueError if `length` is too small for one token.
    """
    sequences = encode_examples(examples, "single", tokenizer, length)
    offsets = tokenizer.encode_with_offsets([example.first for example in examples])
    rows: list[tuple[int, int, int]] = []
    for sequence, (example, encoded) in enumerate(zip(examples, offsets, strict=True)):
        first_tokens = _first_tokens(example.first, [start for start, _ in encoded.offsets])
        assert len(first_tokens) == len(example.tags)
        for token, tag in zip(first_tokens, example.tags, strict=True):
            fits = token is not None and token + 2 < length  # between [CLS] and [SEP]
            rows.append((sequence, token + 1 if token is not None and fits else NO_POSITION, tag))
    return EncodedWords(sequences, np.asarray(rows, dtype=np.int32).reshape(-1, 3))


def _first_tokens(text: str, starts: Sequence[int]) -> list[int | None]:
    """Return, for each word of a text, the first token that starts in it; None if there is none.

    `starts` has the first character of every token.
    """
    first_tokens: list[int | None] = []
    token = end = 0
    for word in text.split(" "):
        start, end = end, end + len(word) + 1
        while token < len(starts) and starts[token] < start:
            token += 1
        first_tokens.append(token if token < len(starts) and starts[token] < end else None)
    return first_tokens


def save_words(encoded: EncodedWords, folder: Path) -> None:
    """Write the sequences, as `save_examples` does, and the words into an existing folder."""
    save_examples(encoded.sequences, folder)
    np.save(folder / WORDS_FILE, encoded.words.astype("<i4"), allow_pickle=False)


def load_words(folder: Path) -> EncodedWords:
    """Return saved words; raises CorruptionError if a file is damaged or missing."""
    return EncodedWords(load_examples(folder), load_array(folder / WORDS_FILE))


@dataclass(frozen=True)
class EncodedTextPairs:
    """Encoded sources and targets, in the order of the examples, with their texts."""

    sources: EncodedExamples
    """`answers_lost` is the number of truncated targets."""
    targets: IntegerArray
    """[example target]; tokens, [SEP], then [PAD]; a truncated target ends with [SEP] too."""
    target_lengths: IntegerArray
    """[example]; tokens of each target, [SEP] included."""
    source_texts: tuple[str, ...]
    references: tuple[str, ...]
    """The target texts as given, which predictions are compared with."""

    def __len__(self) -> int:
        return len(self.references)


def encode_text_pairs(
    examples: Sequence[Example], tokenizer: Tokenizer, length: int, source_tokenizer: Tokenizer | None = None
) -> EncodedTextPairs:
    """Return the pairs with sources and targets of at most `length` tokens, special ones included.

    Sources have the tokenizer of targets if they have none of their own. Raises ValueError if `length` is too small
    for one token.
    """
    sources = encode_examples(
        [Example(example.first, row=example.row) for example in examples],
        "single",
        source_tokenizer or tokenizer,
        length,
    )
    references = tuple(str(example.second) for example in examples)
    tokens = tokenizer.encode(references)
    cut = [row[: length - 1] for row in tokens]
    targets = np.full((len(cut), length), tokenizer.pad, np.int32)
    for target, row in zip(targets, cut, strict=True):
        target[: len(row) + 1] = [*row, tokenizer.separate]
    lost = sum(len(row) < len(whole) for row, whole in zip(cut, tokens, strict=True))
    lengths = np.asarray([len(row) + 1 for row in cut], np.int32)
    texts = tuple(example.first for example in examples)
    return EncodedTextPairs(replace(sources, answers_lost=lost), targets, lengths, texts, references)


def save_text_pairs(encoded: EncodedTextPairs, folder: Path) -> None:
    """Write the sources, as `save_examples` does, the targets and the texts into an existing folder."""
    save_examples(encoded.sources, folder)
    np.save(folder / TARGETS_FILE, encoded.targets.astype("<i4"), allow_pickle=False)
    np.save(folder / LENGTHS_FILE, encoded.target_lengths.astype("<i4"), allow_pickle=False)
    texts = {"sources": encoded.source_texts, "references": encoded.references}
    (folder / TEXTS_FILE).write_text(json.dumps(texts, ensure_ascii=False) + "\n", encoding="utf-8")


def load_text_pairs(folder: Path) -> EncodedTextPairs:
    """Return saved pairs; raises CorruptionError if a file is damaged or missing."""
    sources = load_examples(folder)
    with damage_refused(folder.name):
        texts = json.loads((folder / TEXTS_FILE).read_text(encoding="utf-8"))
        targets, lengths = load_array(folder / TARGETS_FILE), load_array(folder / LENGTHS_FILE)
        return EncodedTextPairs(sources, targets, lengths, tuple(texts["sources"]), tuple(texts["references"]))


def encode_choices(examples: Sequence[Example], tokenizer: Tokenizer, length: int, endings: int) -> EncodedExamples:
    """Return the endings of every example as consecutive sequences; of each pair the longer text is truncated first.

    `truncated` counts examples with a truncated sequence, `answers_lost` examples whose right ending is no longer
    different from another one. Raises ValueError if an example has another number of endings than `endings`, or
    `length` is too small for one token of each text.
    """
    for example in examples:
        if len(example.endings) != endings:
            raise ValueError(f"row {example.row}: {len(example.endings)} endings, expected {endings}")
    pairs = [Example(example.first, ending) for example in examples for ending in example.endings]
    encoded = encode_examples(pairs, "pair", tokenizer, length)
    contexts = np.repeat([len(each) for each in tokenizer.encode([example.first for example in examples])], endings)
    ending_lengths = np.asarray([len(each) for each in tokenizer.encode([str(pair.second) for pair in pairs])])
    cut = (contexts + ending_lengths > length - SPECIAL_TOKENS).reshape(-1, endings).any(1)
    nothing = np.full(len(examples), -1, np.int32)
    labels = [-1 if example.label is None else example.label for example in examples]
    choices = replace(
        encoded,
        labels=np.asarray(labels, np.int32).reshape(-1),
        starts=nothing,
        ends=nothing,
        truncated=int(cut.sum()),
        rows=tuple(example.row for example in examples if example.row),
        endings=endings,
    )
    return replace(choices, answers_lost=sum(_lost(choices, number) for number in np.flatnonzero(cut).tolist()))


def _lost(choices: EncodedExamples, example: int) -> bool:
    """Return whether the right ending of an example has the same tokens as another one."""
    label = int(choices.labels[example])
    tokens = np.asarray(choices.tokens)[choices.sequences_of(np.asarray([example]))]
    return label >= 0 and bool((tokens == tokens[label]).all(1).sum() > 1)


def encode_pairs(examples: Sequence[Example], tokenizer: Tokenizer, length: int) -> EncodedExamples:
    """Return two rows per pair, the acceptable sentence first. Raises ValueError if `length` is under 3."""
    sentences = [Example(text, source=pair.source) for pair in examples for text in (pair.first, str(pair.second))]
    return encode_examples(sentences, "single", tokenizer, length)


def save_groups(examples: Iterable[Example], folder: Path) -> None:
    """Write the group (phenomenon) of every pair into an existing folder."""
    (folder / GROUPS_FILE).write_text(json.dumps([example.group for example in examples]), encoding="utf-8")


def load_groups(folder: Path) -> list[str]:
    """Return the group (phenomenon) of every pair; raises CorruptionError if the file is damaged or missing."""
    with damage_refused(folder.name):
        groups = json.loads((folder / GROUPS_FILE).read_text(encoding="utf-8"))
        return [str(group) for group in groups]

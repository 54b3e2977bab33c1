"""A text as packings read it, and the sequences that they make of it, in an order that depends on the seed alone.

Two arms with the same seed see the same batches in the same order. The batch of a step is a function of the step's
number, so an interrupted run resumes with the same batches.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from search_space.special_tokens import SpecialTokens
from steeplechase.foundation.numpy_on_use import Booleans, Numbers, Random, Unsigned, np
from steeplechase.foundation.randomness import stream

UNDEFINED = -1
"""Label of a pair whose segments are equal, so that their order is undefined."""


class EntityNames:
    """The names of entities by type, from which another entity's name is drawn."""

    def __init__(self, types: list[str], names: list[list[tuple[int, ...]]]) -> None:
        self._names = names
        by_type: defaultdict[str, list[int]] = defaultdict(list)
        self._places: list[int] = []
        for number, entity_type in enumerate(types):
            self._places.append(len(by_type[entity_type]))
            by_type[entity_type].append(number)
        self._of_type = [by_type[entity_type] for entity_type in types]

    def other(self, entity: int, random: Random) -> tuple[int, ...] | None:
        """Return a name of a random other entity of the same type; None if the type has no other."""
        same_type = self._of_type[entity]
        if len(same_type) < 2:
            return None
        drawn = int(random.integers(len(same_type) - 1))
        names = self._names[same_type[drawn + (drawn >= self._places[entity])]]
        return names[int(random.integers(len(names)))]


@dataclass(frozen=True)
class Text:
    """The tokens of a split, [SEP] after every document."""

    tokens: Unsigned
    sentences: Numbers
    """The position of the first token of every sentence; empty for a packing that reads no sentences."""
    tokenizer: SpecialTokens
    sequence_length: int
    """Tokens of a sequence, special ones included."""
    mentions: Numbers = field(default_factory=lambda: np.empty((0, 3), np.int64))
    """Begin, end and entity of every mention, in order [mentions 3]; empty for a packing that reads none."""
    entity_names: EntityNames = field(default_factory=lambda: EntityNames([], []))


@dataclass(frozen=True)
class Sequences:
    """Sequences before an objective prepares them, and their identity, on which static corruption depends."""

    filled_with: ClassVar[Mapping[str, int]] = {}
    """What ends the rows of an array, beside that of the tokens, where those of another batch are longer; else 0."""
    tokens: Numbers
    """With special tokens; shape [batch seq]."""
    numbers: Numbers
    """The number of each sequence in the text [batch]."""
    epochs: Numbers
    """How often each sequence has been visited before [batch]."""
    seed: int
    """The pretraining seed."""
    text: Unsigned = field(default_factory=lambda: np.empty(0, np.uint16), kw_only=True)
    """The text that they are pieces of, for objectives that sample tokens of it; empty where no objective does."""
    tokens_before: int = field(default=0, kw_only=True)
    """Training tokens of the updates before, on which the share of masked tokens may depend."""


def joined(batches: Sequence[Sequences], pad: int) -> Sequences:
    """Return the rows of several batches of one kind as one batch, each as long as the longest."""
    first = batches[0]
    rows: dict[str, Any] = {}
    for name, value in vars(first).items():
        if isinstance(value, np.ndarray) and name != "text":
            fill = pad if name == "tokens" else first.filled_with.get(name, 0)
            rows[name] = _stacked([getattr(batch, name) for batch in batches], fill)
    return first if len(batches) == 1 else type(first)(**{**vars(first), **rows})


def _stacked(arrays: list[Any], fill: int) -> Any:
    """Return the rows of all arrays, filled at the end of their second dimension where it differs."""
    if arrays[0].ndim > 1:
        longest = max(array.shape[1] for array in arrays)
        others = ((0, 0),) * (arrays[0].ndim - 2)
        arrays = [
            np.pad(array, ((0, 0), (0, longest - array.shape[1]), *others), constant_values=fill) for array in arrays
        ]
    return np.concatenate(arrays)


class SequenceSource(Protocol):
    """The sequences of a text, numbered from 0."""

    sequences: int
    """How many there are."""

    def at(self, step: int, batch_sequences: int, seed: int) -> Sequences:
        """Return the batch of one step; each epoch visits every sequence once, in its own random order."""

    def evenly_spaced(self, count: int, seed: int) -> Sequences:
        """Return `count` sequences at equal distances in the text, which has at least as many."""


class VisitingOrder:
    """The numbers of the sequences of a step: each epoch visits every sequence once, in its own random order."""

    def __init__(self, sequences: int) -> None:
        self.sequences = sequences

    def at(self, step: int, batch_sequences: int, seed: int) -> tuple[Numbers, Numbers]:
        """Return the number and the epoch of every sequence of a batch, both [batch]."""
        indices = np.arange(step * batch_sequences, (step + 1) * batch_sequences)
        epochs = indices // self.sequences
        numbers = np.empty(batch_sequences, dtype=np.int64)
        for epoch in np.unique(epochs):
            inside = epochs == epoch
            numbers[inside] = self.of_epoch(seed, int(epoch))[indices[inside] % self.sequences]
        return numbers, epochs

    def evenly_spaced(self, count: int) -> Numbers:
        """Return the numbers of `count` sequences at equal distances."""
        return np.linspace(0, self.sequences - 1, count).astype(np.int64)

    def of_epoch(self, seed: int, epoch: int) -> Numbers:
        """Return all numbers in the order of an epoch."""
        if getattr(self, "_known", None) != (seed, epoch):
            self._known = (seed, epoch)
            self._permutation = stream(seed, "order", epoch).permutation(self.sequences)
        return self._permutation


def next_of_lanes(sequences: int, lanes: int, step: int, seed: int) -> tuple[Numbers, Numbers]:
    """Return the number and the epoch of the next sequence of every lane, both [lanes].

    The sequences are cut into lanes of equal length, one or more to each. Lanes begin at a place that the seed draws
    for every epoch.
    """
    length = sequences // lanes
    epoch, place = divmod(step, length)
    first = int(stream(seed, "order", epoch).integers(sequences))
    numbers = (np.arange(lanes) * length + place + first) % sequences
    return numbers, np.full_like(numbers, epoch)


@dataclass(frozen=True)
class PairSequences(Sequences):
    """Sequences of two segments each."""

    segments: Numbers
    """0 up to the first [SEP], then 1; 0 at padding [batch seq]."""
    labels: Numbers
    """The relation of both segments, a number of the objective's `relations`, or UNDEFINED [batch]."""


@dataclass(frozen=True)
class ContinuedPairSequences(PairSequences):
    """Sequences whose first half continues the first half of the sequence before."""

    backwards: Booleans
    """Whether a row reads the text from its end [batch]."""


class PairRelations(Protocol):
    """What an objective on pairs of segments declares of them."""

    @property
    def relations(self) -> tuple[str, ...]:
        """The classes in the order of their labels: `next`, `previous`, `random`."""

    @property
    def fewest_sentences(self) -> int:
        """Sentences that a document needs for a pair."""

    @property
    def short_sequence_share(self) -> float:
        """Share of the pairs that are shorter than the sequence."""

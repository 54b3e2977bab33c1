"""Entity replacement beside masked language modelling. Xiong et al. 2019 (WKLM), arXiv 1912.09637, section 2."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from search_space.architecture import Architecture
from search_space.candidate import Candidate
from search_space.objective import EntityReplacement
from search_space.packing.mentions import NO_MENTION, MentionSequences
from search_space.packing.sequences import Sequences
from search_space.selection.numbering import NONE, NOT_PREDICTED
from steeplechase.foundation.numpy_on_use import Numbers
from steeplechase.foundation.randomness import stream
from steeplechase.models.heads.logit import EntityHead
from steeplechase.models.heads.masked_language_model import gather_masked
from steeplechase.models.precision import to_float32
from steeplechase.tasks.masking import MaskedBatch, Words, mask
from steeplechase.tasks.objectives.masked_tokens import MaskedTensors, MaskedTokenModel, masked_token_loss
from steeplechase.tasks.tokenizer import Tokenizer
from steeplechase.tasks.tokenizer.word_boundaries import words_of

NO_BOUNDARY = -1
"""Of a mention that is not classified, and of rows with fewer mentions than others."""


@dataclass(frozen=True)
class Replaced:
    """Sequences in which some mentions are replaced; a name may be longer or shorter than the one before."""

    tokens: Numbers
    """[CLS], the text, [SEP], padding; what is too long is cut off at its end [batch seq]."""
    inside: NDArray[np.bool_]
    """Whether each token is part of a mention [batch seq]."""
    left: Numbers
    """The position before each mention, or NO_BOUNDARY [batch mentions]."""
    right: Numbers
    """The position after it, or NO_BOUNDARY [batch mentions]."""
    replaced: NDArray[np.bool_]
    """Whether each mention names another entity than the text [batch mentions]."""


def chosen(count: int, rate: float, random: np.random.Generator) -> Numbers:
    """Return which of `count` mentions in a row are replaced: on average a share `rate`, and never two adjacent ones.

    All choices of the same size are equally likely: a choice of k without neighbours is one of any k of n - k + 1.
    """
    wanted = min(int(np.floor(rate * count + random.random())), (count + 1) // 2)
    places = np.sort(random.choice(count - wanted + 1, wanted, replace=False))
    return np.asarray(places + np.arange(wanted))


def replace_entities(
    sequences: MentionSequences, rate: float, tokenizer: Tokenizer, random: np.random.Generator, copies: int | None
) -> Replaced:
    """Return the sequences with replaced mentions.

    With `copies`, a sequence has so many versions, repeated in the order of its epochs; they depend on its number and
    the seed alone. A mention stays if its type has no other entity, or if the drawn name is the one in the text.
    """
    rows = []
    for row in range(len(sequences.tokens)):
        if copies is not None:
            epoch = int(sequences.epochs[row]) % copies
            random = stream(sequences.seed, "entity replacement", int(sequences.numbers[row]), epoch)
        rows.append(_rewritten(sequences, row, rate, tokenizer, random))
    return Replaced(*(np.stack(column) for column in zip(*rows, strict=True)))


def _rewritten(
    sequences: MentionSequences, row: int, rate: float, tokenizer: Tokenizer, random: np.random.Generator
) -> tuple[Numbers, NDArray[np.bool_], Numbers, Numbers, NDArray[np.bool_]]:
    """Return the fields of `Replaced` of one sequence."""
    before, mentions = sequences.tokens[row], sequences.mentions[row]
    found = mentions[mentions[:, 0] != NO_MENTION]
    names: dict[int, tuple[int, ...]] = {}
    for place in chosen(len(found), rate, random).tolist():
        start, end, entity = found[place].tolist()
        name = sequences.names.other(entity, random)
        if name is not None and name != tuple(before[start:end].tolist()):
            names[place] = name
    length, last = len(before), int(np.flatnonzero(before != tokenizer.pad)[-1])
    tokens, inside = np.full(length, tokenizer.pad, np.int64), np.zeros(length, np.bool_)
    left, right = (np.full(len(mentions), NO_BOUNDARY, np.int64) for _ in range(2))
    replaced = np.zeros(len(mentions), np.bool_)
    position = 0
    for piece, place in _pieces(before[:last], found, names):
        room = length - 1 - position  # for [SEP]
        end = position + min(len(piece), room)
        tokens[position:end] = piece[: end - position]
        if place is not None:
            inside[position:end] = True
            if len(piece) <= room:
                left[place], right[place], replaced[place] = position - 1, end, place in names
        position = end
    tokens[position] = before[last]
    return tokens, inside, left, right, replaced


def _pieces(
    tokens: Numbers, mentions: Numbers, names: dict[int, tuple[int, ...]]
) -> Iterator[tuple[Numbers, int | None]]:
    """Yield the text before each mention, then the mention with its number; at last the text after all of them."""
    position = 0
    for place, (start, end, _) in enumerate(mentions.tolist()):
        yield tokens[position:start], None
        yield np.array(names.get(place, tokens[start:end]), np.int64), place
        position = end
    yield tokens[position:], None


@dataclass(frozen=True)
class EntityBatch(MaskedBatch):
    """A masked batch with replaced mentions and their boundaries."""

    real: NDArray[np.bool_]
    """False at padding [batch seq]."""
    left: NDArray[np.int64]
    """The position before each mention, or NO_BOUNDARY [batch mentions]."""
    right: NDArray[np.int64]
    """The position after it [batch mentions]."""
    replaced: NDArray[np.bool_]
    """Whether it was replaced [batch mentions]."""

    @property
    def classified(self) -> NDArray[np.int64]:
        """The classified mentions, numbered row by row."""
        return np.flatnonzero(self.left != NO_BOUNDARY)


@dataclass(frozen=True)
class EntityTensors(MaskedTensors):
    """A batch on the device."""

    varying: ClassVar[tuple[str, ...]] = ("rows", "groups", "classified", "true")
    left: Int[Tensor, "batch mentions"] = field(kw_only=True)
    """The position before each mention; 0 where it is not classified."""
    right: Int[Tensor, "batch mentions"] = field(kw_only=True)
    classified: Int[Tensor, " classified"] = field(kw_only=True)
    """The numbers of the classified mentions, row by row."""
    true: Float[Tensor, " classified"] = field(kw_only=True)
    """1 where a mention is not replaced."""


class Model(MaskedTokenModel[EntityBatch]):
    """An encoder with a vocabulary head and a head of mentions."""

    def __init__(self, candidate: Candidate, generator: Architecture | None) -> None:
        super().__init__(candidate)
        assert isinstance(candidate.objective, EntityReplacement)
        self.objective = candidate.objective
        self.entity_head = EntityHead(candidate.architecture)

    def prepare(self, sequences: Sequences, tokenizer: Tokenizer, random: np.random.Generator) -> EntityBatch:
        """Return the sequences with replaced mentions, and with masks outside all mentions."""
        assert isinstance(sequences, MentionSequences)
        objective = self.objective
        changed = replace_entities(sequences, objective.replacement_rate, tokenizer, random, objective.static_masks)
        masked = self._masked(replace(sequences, tokens=changed.tokens), changed, tokenizer, random)
        boundaries = {name: getattr(changed, name) for name in ("left", "right", "replaced")}
        return EntityBatch(**vars(masked), real=changed.tokens != tokenizer.pad, **boundaries)

    def _masked(
        self, sequences: Sequences, changed: Replaced, tokenizer: Tokenizer, random: np.random.Generator
    ) -> MaskedBatch:
        if not self.objective.masked_token_weight:
            positions = np.zeros((len(changed.tokens), 1), np.int64)
            nothing = np.full_like(positions, NOT_PREDICTED)
            return MaskedBatch(changed.tokens, positions, nothing, np.full_like(positions, NONE))
        words = np.where(changed.inside, NONE, words_of(changed.tokens, tokenizer))
        return mask(sequences, self.objective, tokenizer, random, Words(words))

    def predictions_of_terms(self, batch: EntityBatch) -> tuple[int, int]:
        """Return the masked tokens, and the classified mentions."""
        return batch.predictions, len(batch.classified)

    def device_batch(self, batch: EntityBatch, random: np.random.Generator) -> EntityTensors:
        """Return the batch as tensors on the encoder's device: masked tokens, and mentions with their labels."""
        masked = self.masked_tensors(batch, batch.real)
        rows = batch.classified
        left, right = (self.tensor(np.maximum(each, 0)) for each in (batch.left, batch.right))
        true = self.tensor(~batch.replaced.ravel()[rows]).float()
        return EntityTensors(**vars(masked), left=left, right=right, classified=self.tensor(rows), true=true)

    def terms(self, batch: EntityTensors) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """Return both weighted losses in nats."""
        masked, entity = self.losses(batch)
        return self.objective.masked_token_weight * masked, self.objective.entity_weight * entity

    def losses(self, batch: EntityTensors) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """Return the mean losses in nats of masked tokens, and of mentions that are true or replaced."""
        hidden = self.hidden(batch)
        masked, _ = masked_token_loss(hidden, batch, self.head, self.token_table)
        if not len(batch.true):
            return masked, hidden.sum() * 0.0
        logits = to_float32(self.entity_logits(hidden, batch))
        return masked, binary_cross_entropy_with_logits(logits, batch.true)

    def hidden(self, batch: EntityTensors) -> Float[Tensor, "batch seq width"]:
        """Return one vector per token."""
        return self.predicting_vectors(batch.inputs, batch.real)

    def entity_logits(
        self, hidden: Float[Tensor, "batch seq width"], batch: EntityTensors
    ) -> Float[Tensor, " mentions"]:
        """Return the logit that each classified mention is true."""
        left, right = (gather_masked(hidden, side)[batch.classified] for side in (batch.left, batch.right))
        logits: Tensor = self.entity_head(left, right)
        return logits

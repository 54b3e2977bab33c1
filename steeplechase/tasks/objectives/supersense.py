"""Supersense prediction beside masked language modelling. Levine et al. 2019 (SenseBERT), arXiv 1908.05646."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import linear

from search_space.objective import Supersense
from search_space.packing.sequences import Sequences
from search_space.selection.numbering import NONE
from steeplechase.foundation.numpy_on_use import Numbers
from steeplechase.models.encoder import SupersenseEmbeddings
from steeplechase.models.heads.masked_language_model import MaskedLanguageModelHead, gather_masked
from steeplechase.models.precision import to_float32
from steeplechase.tasks.masking import PreferredWords, Rows, Words
from steeplechase.tasks.objectives.auxiliary_loss import AuxiliaryLoss, AuxiliaryLossModel, MaskedSequences
from steeplechase.tasks.objectives.masked_tokens import MaskedTokenModel
from steeplechase.tasks.tokenizer import Tokenizer
from steeplechase.tasks.tokenizer.word_boundaries import words_of


@dataclass(frozen=True)
class AllowedSupersenses(Rows):
    """The supersenses that the lexicon allows the masked words of a batch."""

    allowed: NDArray[np.bool_]
    """Of each predicted position; none where it is not predicted, or no whole word [batch predictions senses]."""
    positions: NDArray[np.int64]
    """The predicted positions [batch predictions]."""

    @property
    def words(self) -> NDArray[np.bool_]:
        """Whether each position has a supersense to predict [batch predictions]."""
        return np.asarray(self.allowed.any(axis=2))


@dataclass(frozen=True)
class SupersenseTensors:
    """The supersenses that the masked words may have, on the device."""

    varying: ClassVar[tuple[str, ...]] = ("rows", "allowed")
    positions: Int[Tensor, "batch predictions"]
    rows: Int[Tensor, " predicted"]
    """The numbers of the positions with a supersense, row by row."""
    allowed: Bool[Tensor, "predicted senses"]


class SupersenseLoss(AuxiliaryLoss[Supersense, AllowedSupersenses]):
    """The supersenses of masked words, predicted by the vocabulary head's vector and the supersense embeddings."""

    def words(self, model: MaskedTokenModel[Any], sequences: Sequences, tokenizer: Tokenizer) -> Words | None:
        """Return all words; those of one supersense are preferred, up to the declared shares."""
        if not self.declared.single_sense_budget:
            return None
        single = allowed_in(model, sequences, tokenizer).sum(axis=2) == 1
        preferred = PreferredWords(single, self.declared.single_sense_words, self.declared.single_sense_budget)
        return Words(words_of(sequences.tokens, tokenizer), preferred)

    def prepare(self, model: MaskedTokenModel[Any], source: MaskedSequences) -> tuple[Numbers, AllowedSupersenses]:
        """Return the inputs as they are, and what the lexicon allows each masked word."""
        masked, allowed = source.masked, allowed_in(model, source.sequences, source.tokenizer)
        at_positions = np.take_along_axis(allowed, masked.masked_positions[..., None], axis=1)
        targets = AllowedSupersenses(at_positions & (masked.spans != NONE)[..., None], masked.masked_positions)
        return masked.inputs, targets

    def predictions(self, targets: AllowedSupersenses) -> int:
        """Return the number of masked words with a supersense."""
        return int(targets.words.sum())

    def device_targets(self, model: MaskedTokenModel[Any], targets: AllowedSupersenses) -> SupersenseTensors:
        """Return what the lexicon allows the masked words, on the device."""
        rows = np.flatnonzero(targets.words)
        allowed = targets.allowed.reshape(-1, targets.allowed.shape[2])[rows]
        return SupersenseTensors(*map(model.tensor, (targets.positions, rows, allowed)))

    def loss(
        self, model: MaskedTokenModel[Any], hidden: Float[Tensor, "batch seq width"], targets: SupersenseTensors
    ) -> Float[Tensor, ""]:
        """Return the mean loss in nats of the supersenses of masked words; 0 without any."""
        if not len(targets.rows):
            return hidden.sum() * 0.0
        x = gather_masked(hidden, targets.positions)[targets.rows]
        return supersense_loss(supersense_logits(model, x), targets.allowed)


class Model(AuxiliaryLossModel):
    """An encoder with supersense embeddings, and a vocabulary head whose vector predicts supersenses too."""

    auxiliary_loss = SupersenseLoss


def supersense_embeddings(model: MaskedTokenModel[Any]) -> SupersenseEmbeddings:
    """Return the supersense embeddings, input and output layer, of an encoder that has them."""
    embeddings = model.encoder.embeddings.supersenses
    assert embeddings is not None
    return embeddings


def supersense_logits(
    model: MaskedTokenModel[Any], x: Float[Tensor, "predicted width"]
) -> Float[Tensor, "predicted senses"]:
    """Return the logits of all supersenses from the vectors of masked positions."""
    assert isinstance(model.head, MaskedLanguageModelHead)
    return linear(model.head.embedded(x), supersense_embeddings(model).table)


def allowed_in(model: MaskedTokenModel[Any], sequences: Sequences, tokenizer: Tokenizer) -> NDArray[np.bool_]:
    """Return the supersenses of every token that is a word by itself [batch seq senses]."""
    allowed = supersense_embeddings(model).allowed[model.tensor(sequences.tokens)].cpu().numpy()
    return np.asarray(allowed & alone(words_of(sequences.tokens, tokenizer))[..., None])


def alone(numbers: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return whether every token is a word by itself, by the numbers of the words [batch seq]."""
    with_neighbour = np.zeros(numbers.shape, np.bool_)
    same = numbers[:, 1:] == numbers[:, :-1]
    with_neighbour[:, 1:] |= same
    with_neighbour[:, :-1] |= same
    return np.asarray((numbers != NONE) & ~with_neighbour)


def supersense_loss(
    logits: Float[Tensor, "predicted senses"], allowed: Bool[Tensor, "predicted senses"]
) -> Float[Tensor, ""]:
    """Return the mean of -log Σ p(s) - Σ log p(s) / |A| in nats, sums over the allowed supersenses A; section 3.2."""
    scores = to_float32(logits).log_softmax(dim=-1)
    any_of_them = scores.masked_fill(~allowed, -torch.inf).logsumexp(dim=-1)
    towards_all = (scores * allowed).sum(dim=-1) / allowed.sum(dim=-1)
    return -(any_of_them + towards_all).mean()

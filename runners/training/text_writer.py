"""Models that write a target text for a source: encoder-decoders, and a stack that was trained on [MASK].

In a stack (UNILM, Dong et al. 2019, arXiv 1905.03197, section 2.4) source and target are one sequence, [CLS] source
[SEP] target [SEP]: the source is read in both directions, the target from left to right. In training a share of the
target's tokens is masked and predicted, its end included.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from search_space.architecture import Architecture
from search_space.objective.mixed_visibility import SEGMENTS
from steeplechase.models.attention_context import AttentionContext, DecodingContext
from steeplechase.models.devices import on_device
from steeplechase.models.encoder import Encoder
from steeplechase.models.encoder_decoder import EncoderDecoder, target_loss
from steeplechase.models.generation.decoding import Decoding, cloze_decoding, target_decoding
from steeplechase.models.heads.masked_language_model import MaskedLanguageModelHead
from steeplechase.models.kernels.vocabulary_cross_entropy import smoothed_cross_entropy
from steeplechase.models.visible_tokens import behind_sources
from steeplechase.tasks.labelled.forms import EncodedTextPairs
from steeplechase.tasks.objectives.mixed_visibility import SEGMENT_OF
from steeplechase.tasks.tokenizer import Tokenizer

MASK_SHARE, RANDOM_SHARE = 0.8, 0.1
"""Of the predicted tokens: those replaced by [MASK], and by a random token; as in BERT."""
NOT_PREDICTED = -100
Rows = NDArray[np.int64]
"""The pairs of a batch."""


class TextWriter(ABC):
    """A module with what is done to it; one subclass for each way of writing a text."""

    equal_sources: bool = False
    """Whether the sources of a batch that is decoded have one length."""

    def __init__(self, module: nn.Module) -> None:
        self.module = module

    @property
    def device(self) -> torch.device:
        """Device of the weights."""
        return next(self.module.parameters()).device

    @abstractmethod
    def training_loss(
        self, pairs: EncodedTextPairs, rows: Rows, label_smoothing: float, random: np.random.Generator
    ) -> Float[Tensor, ""]:
        """Return the mean cross-entropy in nats over the predicted tokens of a batch of pairs."""

    @abstractmethod
    def target_losses(self, pairs: EncodedTextPairs, rows: Rows) -> Float[Tensor, " tokens"]:
        """Return the cross-entropy in nats of every token of the targets, their ends included, by the chain rule.

        Sources have one length where `equal_sources` says so.
        """

    @abstractmethod
    def decoding(
        self, sources: Int[Tensor, "batch source"], mask: Bool[Tensor, "batch source"] | None, beams: int
    ) -> tuple[Decoding, Int[Tensor, "batch prompt"]]:
        """Return the decoding of the targets, and the tokens that it begins with."""

    def batches(self, lengths: NDArray[np.int32], size: int) -> Iterable[Rows]:
        """Yield rows of similar lengths, or of one length where `equal_sources` says so, at most `size` at a time."""
        order = np.argsort(lengths, kind="stable")
        changes = np.flatnonzero(np.diff(lengths[order])) + 1
        for part in np.split(order, changes) if self.equal_sources else [order]:
            yield from (part[first : first + size] for first in range(0, len(part), size))


def source_tensors(
    pairs: EncodedTextPairs, rows: Rows, device: torch.device
) -> tuple[Int[Tensor, "batch source"], Bool[Tensor, "batch source"] | None]:
    """Return the sources of some rows, and their padding mask; None where nothing is padding."""
    lengths = np.asarray(pairs.sources.lengths)[rows]
    longest = int(lengths.max())
    tokens = on_device(np.asarray(pairs.sources.tokens)[rows, :longest].astype(np.int64), device)
    real = np.arange(longest) < lengths[:, None]
    return tokens, None if real.all() else on_device(real, device)


@dataclass(frozen=True)
class PairTensors:
    """A batch of pairs on the model's device."""

    sources: Int[Tensor, "batch source"]
    source_mask: Bool[Tensor, "batch source"] | None
    inputs: Int[Tensor, "batch target"]
    """What the decoder reads: [CLS] and the target without its end."""
    targets: Int[Tensor, "batch target"]
    """What it predicts, NOT_PREDICTED behind the end."""

    @classmethod
    def of(cls, pairs: EncodedTextPairs, rows: Rows, start: int, device: torch.device) -> "PairTensors":
        """Return the pairs of some rows, cut to the longest of each side; `start` is the decoder's first token."""
        source, real = source_tensors(pairs, rows, device)
        lengths = np.asarray(pairs.target_lengths)[rows]
        longest = int(lengths.max())
        targets = np.asarray(pairs.targets)[rows, :longest].astype(np.int64)
        inputs = np.concatenate([np.full((len(rows), 1), start), targets[:, :-1]], 1)
        targets[np.arange(longest) >= lengths[:, None]] = NOT_PREDICTED
        return cls(source, real, torch.from_numpy(inputs).to(device), torch.from_numpy(targets).to(device))


class DecoderWriter(TextWriter):
    """An encoder–decoder; `start` is the first token that the decoder reads."""

    def __init__(self, model: EncoderDecoder, start: int) -> None:
        super().__init__(model)
        self.model, self.start = model, start

    def training_loss(
        self, pairs: EncodedTextPairs, rows: Rows, label_smoothing: float, random: np.random.Generator
    ) -> Float[Tensor, ""]:
        """Return the mean cross-entropy in nats over the tokens of the targets, their ends included."""
        return pair_loss(self.model, PairTensors.of(pairs, rows, self.start, self.device), label_smoothing)

    def target_losses(self, pairs: EncodedTextPairs, rows: Rows) -> Float[Tensor, " tokens"]:
        """Return the cross-entropy in nats of every token of the targets, in one pass."""
        batch = PairTensors.of(pairs, rows, self.start, self.device)
        logits = self.model.target_logits(batch.sources, batch.source_mask, batch.inputs)
        losses = cross_entropy(logits.flatten(0, 1), batch.targets.flatten(), reduction="none")
        return losses[batch.targets.flatten() != NOT_PREDICTED]

    def decoding(
        self, sources: Int[Tensor, "batch source"], mask: Bool[Tensor, "batch source"] | None, beams: int
    ) -> tuple[Decoding, Int[Tensor, "batch prompt"]]:
        """Return the decoding of the targets, which begins with `start`."""
        prompt = sources.new_full((len(sources), 1), self.start)
        return target_decoding(self.model, self.model.encode(sources, mask), beams), prompt


def pair_loss(model: EncoderDecoder, pairs: PairTensors, label_smoothing: float = 0.0) -> Float[Tensor, ""]:
    """Return the mean cross-entropy in nats over the tokens of the targets, their ends included."""
    context = DecodingContext(model.encode(pairs.sources, pairs.source_mask))
    return target_loss(model, model.decoder(pairs.inputs, context), pairs.targets, label_smoothing)


class ClozeModel(nn.Module):
    """A stack with its vocabulary head."""

    def __init__(self, architecture: Architecture, dropout_rate: float) -> None:
        super().__init__()
        self.encoder = Encoder(architecture, dropout_rate)
        self.head = MaskedLanguageModelHead(architecture)

    def logits(self, x: Float[Tensor, "rows width"]) -> Float[Tensor, "rows vocab"]:
        """Return the logits over the vocabulary."""
        found: Tensor = self.head(x, self.encoder.embeddings.tokens.weight)
        return found


@dataclass(frozen=True)
class JoinedPairs:
    """Sources with their targets behind them, as arrays."""

    tokens: NDArray[np.int64]
    """[batch seq], padding behind the target."""
    sources: NDArray[np.int64]
    """[batch]: tokens of each source."""
    real: NDArray[np.bool_]
    """[batch seq]: False at padding."""

    @classmethod
    def of(cls, pairs: EncodedTextPairs, rows: Rows, pad: int) -> "JoinedPairs":
        """Return some pairs, each target behind its source."""
        sources = np.asarray(pairs.sources.lengths)[rows].astype(np.int64)
        lengths = sources + np.asarray(pairs.target_lengths)[rows]
        tokens = np.full((len(rows), int(lengths.max())), pad, np.int64)
        for row, (pair, source, end) in enumerate(zip(rows.tolist(), sources, lengths, strict=True)):
            tokens[row, :source] = pairs.sources.tokens[pair, :source]
            tokens[row, source:end] = pairs.targets[pair, : end - source]
        return cls(tokens, sources, np.arange(tokens.shape[1]) < lengths[:, None])

    @property
    def in_target(self) -> NDArray[np.bool_]:
        """Where a token is of the target [batch seq]."""
        behind: NDArray[np.bool_] = self.real & (np.arange(self.tokens.shape[1]) >= self.sources[:, None])
        return behind


class ClozeWriter(TextWriter):
    """A stack with its vocabulary head; `mask_share` of a target's tokens are predicted in training."""

    equal_sources = True

    def __init__(self, model: ClozeModel, tokenizer: Tokenizer, mask_share: float) -> None:
        super().__init__(model)
        self.model, self.tokenizer, self.mask_share = model, tokenizer, mask_share
        tells_apart = model.encoder.architecture.segments >= SEGMENTS
        self.segments = SEGMENT_OF["prefix"] if tells_apart else None

    def training_loss(
        self, pairs: EncodedTextPairs, rows: Rows, label_smoothing: float, random: np.random.Generator
    ) -> Float[Tensor, ""]:
        """Return the mean cross-entropy in nats over the masked tokens of the targets."""
        joined = JoinedPairs.of(pairs, rows, self.tokenizer.pad)
        predicted = chosen_tokens(joined.in_target, self.mask_share, random)
        inputs = self._masked(joined.tokens, predicted, random)
        places = torch.from_numpy(predicted).to(self.device)
        x = self._states(inputs, joined)[places]
        targets = torch.from_numpy(joined.tokens[predicted]).to(self.device)
        head, table = self.model.head, self.model.encoder.embeddings.tokens.weight
        return smoothed_cross_entropy(head.embedded(x), table, head.words.bias, targets, label_smoothing)

    def target_losses(self, pairs: EncodedTextPairs, rows: Rows) -> Float[Tensor, " tokens"]:
        """Return the cross-entropy in nats of every token of the targets, each predicted by a [MASK] of its own."""
        joined = JoinedPairs.of(pairs, rows, self.tokenizer.pad)
        tokens, source = torch.from_numpy(joined.tokens).to(self.device), int(joined.sources[0])
        decoding, prompt = self.decoding(tokens[:, :source], None, 1)
        losses, found = [], decoding.advance(prompt)
        for place in range(source, tokens.shape[1]):
            losses.append(-found.gather(1, tokens[:, place : place + 1]))
            if place + 1 < tokens.shape[1]:
                found = decoding.advance(tokens[:, place : place + 1])
        return torch.cat(losses, 1)[torch.from_numpy(joined.real[:, source:]).to(self.device)]

    def decoding(
        self, sources: Int[Tensor, "batch source"], mask: Bool[Tensor, "batch source"] | None, beams: int
    ) -> tuple[Decoding, Int[Tensor, "batch prompt"]]:
        """Return the decoding of the targets, which begins with the sources. Raises ValueError for padded sources."""
        if mask is not None:
            raise ValueError("sources of different lengths cannot be continued together; give those of one length")
        return cloze_decoding(self.model.encoder, self.model.logits, self.tokenizer.mask, self.segments), sources

    def _masked(
        self, tokens: NDArray[np.int64], predicted: NDArray[np.bool_], random: np.random.Generator
    ) -> NDArray[np.int64]:
        uniforms = random.random(tokens.shape)
        others = random.integers(0, self.tokenizer.vocabulary_size, tokens.shape)
        replaced = np.where(uniforms < MASK_SHARE + RANDOM_SHARE, others, tokens)
        replaced = np.where(uniforms < MASK_SHARE, self.tokenizer.mask, replaced)
        return np.where(predicted, replaced, tokens)

    def _states(self, inputs: NDArray[np.int64], joined: JoinedPairs) -> Float[Tensor, "batch seq width"]:
        device = self.device
        sources = torch.from_numpy(joined.sources).to(device)
        tokens, real = torch.from_numpy(inputs).to(device), torch.from_numpy(joined.real).to(device)
        visible = behind_sources(sources, tokens.shape[1])
        segments = None
        if self.segments is not None:
            places = torch.arange(tokens.shape[1], device=device)
            segments = torch.where(places < sources[:, None], *self.segments)
        return self.model.encoder.read(
            tokens, segments, None if bool(real.all()) else real, AttentionContext(visible=visible)
        )


def chosen_tokens(allowed: NDArray[np.bool_], share: float, random: np.random.Generator) -> NDArray[np.bool_]:
    """Return a share of the allowed tokens of each row, drawn without replacement, and at least one [batch seq]."""
    counts = np.maximum(1, np.round(share * allowed.sum(1))).astype(np.int64)
    ranks = np.where(allowed, random.random(allowed.shape), 2.0).argsort(1).argsort(1)
    chosen: NDArray[np.bool_] = allowed & (ranks < counts[:, None])
    return chosen

"""An encoder–decoder as a writer of texts: each token of a target is predicted from the source and those before."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import cross_entropy

from runners.training.text_writer import Rows, TextWriter, source_tensors
from steeplechase.models.attention_context import DecodingContext
from steeplechase.models.decoder_loss import target_loss
from steeplechase.models.encoder_decoder import EncoderDecoder
from steeplechase.models.generation.decoding import Decoding, target_decoding
from steeplechase.tasks.labelled.text_pairs import EncodedTextPairs

NOT_PREDICTED = -100


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

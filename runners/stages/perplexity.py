"""Measures a trained language model on a text: the sum of the losses of its tokens, and what the text counts.

The tokens are one stream, [SEP] between documents, read in windows of the sequence length as in training. Without
`new_tokens`, windows do not overlap, and the first tokens of each have little before them; with it, each window
predicts so many tokens, and the others are context alone. [CLS] and [SEP] are never predicted. A model of consecutive
segments reads the stream as in training: segments one after the other, each with the memory of those before.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from runners.stages.context import Diverged, StageContext
from runners.stages.stage import MeasurementStage
from search_space.architecture import Architecture
from search_space.candidate import Candidate
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.measurements.perplexity import Perplexity
from steeplechase.foundation.errors import DataError
from steeplechase.foundation.schema import Count, JsonValue, Name
from steeplechase.tasks.language_model_texts import LanguageModelText, ReadText
from steeplechase.tasks.tokenizer import Tokenizer, load_tokenizer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from steeplechase.tasks.objectives.pretraining_model import PretrainingModel

SPECIAL_TOKENS = 2  # [CLS] and [SEP]
LOGITS_PER_BATCH = 2**24
"""Maximum logits of one batch; constant, so that sums are reproducible."""


class PerplexityStage(MeasurementStage):
    """Measure a language model on a text. Reads `pretrained` and `tokens`."""

    stage: ClassVar[str] = "perplexity"
    code_version: ClassVar[int] = 1
    hashed_instead: ClassVar[dict[str, str]] = {"text": "read"}
    candidate: Candidate
    generator: Architecture | None = None
    name: Name
    """The text's name in the experiment."""
    text: LanguageModelText
    read: JsonValue
    """The identity of the text's content."""
    length: Count
    """Tokens of a window, [CLS] and [SEP] included."""
    new_tokens: Count | None = None
    memory: int | None = None
    """Tokens of memory; None: as trained."""

    @classmethod
    def of(cls, experiment: Experiment, candidate: Candidate, name: str | None, seed: int) -> Self:
        """Return the measurement of a candidate on a text. Raises DataError for a missing one."""
        measure = experiment.measure.settings(Perplexity)
        assert measure is not None
        assert name is not None
        measured = measure.texts[name]
        return cls(
            candidate=candidate.in_main_phase,
            name=name,
            text=measured.text,
            read=measured.text.inputs(),
            length=experiment.baseline.recipe.sequence_length,
            new_tokens=measure.new_tokens,
            memory=measured.memory if candidate.architecture.memory else None,
        )

    def compute(self, context: StageContext) -> dict[str, JsonValue]:
        """Return the sum of the losses in nats, the predicted tokens, and words and characters. Raises Diverged."""
        from runners.training.pretrained import read_model

        tokenizer = load_tokenizer(context.inputs["tokens"])
        text = self.text.read()
        stream = stream_of(text, tokenizer)
        model = read_model(context.inputs["pretrained"], self.candidate, self.generator)
        total, predicted = 0.0, 0
        losses_of = _losses_of_segments if self.candidate.objective.packing.consecutive else _losses
        for done, (losses, count) in enumerate(losses_of(model, stream, tokenizer, self), start=1):
            total, predicted = total + losses, predicted + count
            context.progress(f"perplexity, batch {done}", min(1.0, predicted / len(stream)))
        if not math.isfinite(total):
            raise Diverged({"task": self.name, "error": "a loss that is not finite"})
        ordinary = stream[stream != tokenizer.separate]
        return {
            "text": self.name,
            "layout": self.text.layout,
            "nats": total,
            "tokens": predicted,
            "words": text.words,
            "characters": text.characters,
            "unknown": int((ordinary == tokenizer.unknown).sum()),
            "length": self.length,
            "new_tokens": self.new_tokens,
        }


def stream_of(text: ReadText, tokenizer: Tokenizer) -> NDArray[np.int64]:
    """Return the tokens of the documents with [SEP] between them. Raises DataError without a token."""
    import numpy as np

    encoded = tokenizer.encode([*text.documents])
    pieces = [np.asarray([*tokens, tokenizer.separate], np.int64) for tokens in encoded if len(tokens)]
    if not pieces:
        raise DataError("the text has no token of the vocabulary")
    return np.concatenate(pieces)[:-1]


@dataclass(frozen=True)
class Window:
    """A piece of the stream, and the part of it that is predicted."""

    first: int
    last: int
    predicted: slice
    """Within the piece."""


def windows(tokens: int, piece: int, new_tokens: int | None, left_to_right: bool) -> Iterator[Window]:
    """Yield windows of at most `piece` tokens in which every token of the stream is predicted once.

    The context that is not predicted lies before the new tokens, or behind them for a model that reads right to left.
    """
    new = piece if new_tokens is None else new_tokens
    for start in range(0, tokens, new):
        end = min(start + new, tokens)
        first, last = (max(0, end - piece), end) if left_to_right else (start, min(tokens, start + piece))
        if new_tokens is None:
            first, last = start, end
        yield Window(first, last, slice(start - first, end - first))


def _losses(
    model: PretrainingModel[Any], stream: NDArray[np.int64], tokenizer: Tokenizer, stage: PerplexityStage
) -> Iterator[tuple[float, int]]:
    """Yield the sum of the losses in nats and the number of predicted tokens of every batch of equal windows."""
    import numpy as np

    architecture, piece = stage.candidate.architecture, stage.length - SPECIAL_TOKENS
    left_to_right = architecture.visibility == "left_to_right"
    by_shape: dict[tuple[int, int, int], list[Window]] = {}
    for window in windows(len(stream), piece, stage.new_tokens, left_to_right):
        shape = (window.last - window.first, window.predicted.start, window.predicted.stop)
        by_shape.setdefault(shape, []).append(window)
    for (length, start, stop), found in by_shape.items():
        predicted = slice(start, stop)
        rows = max(1, LOGITS_PER_BATCH // ((stop - start) * architecture.vocabulary_size))
        for first in range(0, len(found), rows):
            batch = found[first : first + rows]
            pieces = np.stack([stream[window.first : window.first + length] for window in batch])
            yield _batch_losses(model, pieces, predicted, tokenizer, stage)


def _losses_of_segments(
    model: PretrainingModel[Any], stream: NDArray[np.int64], tokenizer: Tokenizer, stage: PerplexityStage
) -> Iterator[tuple[float, int]]:
    """Yield the sums of a batch of segments, one of every lane; the first token of the stream is not predicted."""
    import numpy as np
    import torch
    from torch.nn.functional import cross_entropy

    from steeplechase.models.precision import autocast_to, to_float32
    from steeplechase.tasks.objectives.language_model import segments_in_lanes

    step = stage.length - 1
    segments = max(1, -(-(len(stream) - 1) // step))
    padded = np.full(segments * step + 1, tokenizer.separate, np.int64)  # never predicted
    padded[: len(stream)] = stream
    tokens = model.tensor(np.lib.stride_tricks.sliding_window_view(padded, step + 1)[::step].copy())
    memory = stage.candidate.architecture.memory if stage.memory is None else stage.memory
    with torch.inference_mode(), autocast_to(stage.candidate.recipe.precision, model.encoder.device):
        for rows, hidden in segments_in_lanes(model.encoder, tokens, memory):
            targets = tokens[rows, 1:].flatten()
            logits = to_float32(model.head(hidden.flatten(0, 1), model.token_table))  # type: ignore[operator]
            losses = cross_entropy(logits, targets, reduction="none")
            ordinary = targets != tokenizer.separate
            yield float(losses[ordinary].double().sum()), int(ordinary.sum())


def _batch_losses(
    model: PretrainingModel[Any],
    pieces: NDArray[np.int64],
    predicted: slice,
    tokenizer: Tokenizer,
    stage: PerplexityStage,
) -> tuple[float, int]:
    import numpy as np
    import torch
    from torch.nn.functional import cross_entropy

    from steeplechase.models.precision import autocast_to, to_float32

    rows = len(pieces)
    first, last = (np.full((rows, 1), token, np.int64) for token in (tokenizer.classify, tokenizer.separate))
    inputs = np.concatenate([first, pieces, last], axis=1)
    positions = np.tile(np.arange(predicted.start + 1, predicted.stop + 1), (rows, 1))
    targets = pieces[:, predicted].ravel()
    ordinary = targets != tokenizer.separate
    with torch.inference_mode(), autocast_to(stage.candidate.recipe.precision, model.encoder.device):
        logits = to_float32(model.predict(model.tensor(inputs), model.tensor(positions)))  # type: ignore[operator]
        losses = cross_entropy(logits, model.tensor(targets), reduction="none")
    kept = losses.double().cpu().numpy()[ordinary]
    return float(kept.sum()), int(ordinary.sum())

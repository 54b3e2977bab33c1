"""An encoder with the head of a downstream task. Devlin et al. 2018, arXiv 1810.04805, section 4."""

from typing import Literal

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, mse_loss

from search_space.architecture import Architecture
from steeplechase.models.build_encoder import build_encoder
from steeplechase.models.encoder import Encoder
from steeplechase.models.heads.classification import (
    NO_TAG,
    ChoiceHead,
    ClassificationHead,
    Pooling,
    SpanHead,
    TagHead,
)
from steeplechase.models.precision import to_float32

Form = Literal["single", "pair", "span", "windows", "choice", "tags"]
Head = ClassificationHead | ChoiceHead | SpanHead | TagHead


class FineTuned(nn.Module):
    """An encoder with a head: a label, a value or a choice per example, a tag per word, or an answer span."""

    def __init__(self, encoder: Encoder, head: Head, outputs: int) -> None:
        super().__init__()
        self.encoder, self.head, self.outputs = encoder, head, outputs

    def forward(
        self,
        tokens: Int[Tensor, "sequences seq"],
        segments: Int[Tensor, "sequences seq"],
        padding_mask: Bool[Tensor, "sequences seq"] | None,
    ) -> Float[Tensor, "batch ..."]:
        """Return logits: [batch labels], [batch seq tags], or [batch seq 2] for spans, with padding masked.

        An example is one sequence; of a multiple choice, one per ending, and logits are [batch endings].
        """
        return self.answer(self.encoded(tokens, segments, padding_mask), padding_mask)

    def answer(
        self, x: Float[Tensor, "sequences seq width"], padding_mask: Bool[Tensor, "sequences seq"] | None
    ) -> Float[Tensor, "batch ..."]:
        """Return the logits of what the head reads."""
        padding_mask = every_token(x) if padding_mask is None else padding_mask
        if isinstance(self.head, SpanHead):
            boundaries: Tensor = to_float32(self.head(x))
            return boundaries.masked_fill(~padding_mask[..., None], -1e4)
        logits: Tensor = to_float32(self.head(x) if isinstance(self.head, TagHead) else self.head(x, padding_mask))
        return logits

    def encoded(
        self,
        tokens: Int[Tensor, "sequences seq"],
        segments: Int[Tensor, "sequences seq"],
        padding_mask: Bool[Tensor, "sequences seq"] | None,
    ) -> Float[Tensor, "sequences seq width"]:
        """Return what the head reads: one vector per token."""
        x: Tensor = self.encoder(tokens, segments, padding_mask)
        return x

    def loss(
        self,
        tokens: Int[Tensor, "sequences seq"],
        segments: Int[Tensor, "sequences seq"],
        padding_mask: Bool[Tensor, "sequences seq"] | None,
        answers: Shaped[Tensor, "batch columns"],
    ) -> Float[Tensor, ""]:
        """Return the mean cross-entropy in nats, of tags over words; for a regression task the mean squared error.

        `answers` holds a label, a value, a start and an end, or the tag of every token.
        """
        return self.loss_of(self(tokens, segments, padding_mask), answers)

    def loss_of(
        self, logits: Float[Tensor, "batch ..."], answers: Shaped[Tensor, "batch columns"]
    ) -> Float[Tensor, ""]:
        """Return the loss of the logits."""
        if isinstance(self.head, SpanHead):
            return (cross_entropy(logits[..., 0], answers[:, 0]) + cross_entropy(logits[..., 1], answers[:, 1])) / 2
        if isinstance(self.head, TagHead):
            total = cross_entropy(logits.flatten(0, 1), answers.flatten(), ignore_index=NO_TAG, reduction="sum")
            return total / (answers != NO_TAG).sum().clamp_min(1)
        if self.outputs == 1:
            return mse_loss(logits[:, 0], answers[:, 0])
        return cross_entropy(logits, answers[:, 0])


def every_token(x: Shaped[Tensor, "sequences seq *sizes"]) -> Bool[Tensor, "sequences seq"]:
    """Return the padding mask of sequences without padding."""
    return torch.ones(x.shape[:2], dtype=torch.bool, device=x.device)


def build_fine_tuned(
    architecture: Architecture, form: Form, outputs: int, pooling: Pooling, dropout_rate: float
) -> FineTuned:
    """Return an encoder with the head of the task's form.

    `outputs` is the number of labels, tags or endings, 1 for regression. Span and tag heads ignore `pooling`.
    """
    encoder = build_encoder(architecture, dropout_rate)
    if form in ("span", "windows"):
        return FineTuned(encoder, SpanHead(architecture.width), 2)
    if form == "tags":
        return FineTuned(encoder, TagHead(architecture.width, outputs, dropout_rate), outputs)
    if form == "choice":
        return FineTuned(encoder, ChoiceHead(architecture.width, outputs, pooling, dropout_rate), outputs)
    return FineTuned(encoder, ClassificationHead(architecture.width, outputs, pooling, dropout_rate), outputs)

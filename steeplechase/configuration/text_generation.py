"""`fine_tuning.generation`: training on sources and targets, and the search for the targets of unseen sources."""

from typing import Literal

from pydantic import Field

from steeplechase.configuration.source_encoder import SourceEncoder
from steeplechase.foundation.schema import Count, Schema


class TextGeneration(Schema):
    """How a task of sources and targets is trained and decoded; dropout and label smoothing are the recipe's."""

    schedule: Literal["linear", "inverse_square_root"] = "linear"
    """The learning rate after the warm-up: linear to 0, or by the inverse square root of the updates (arXiv
    1706.03762, section 5.3)."""
    averaged_checkpoints: Count = 1
    """Checkpoints whose weights are averaged, one after each of the last epochs; 1: the last weights. Vaswani et al.
    average 5 (section 6.1)."""
    beams: Count = 1
    """Hypotheses of the beam search; 1 is greedy search. Vaswani et al.: 4."""
    length_penalty: float = Field(default=0.6, ge=0, le=10)
    """α of the length penalty ((5 + length) / 6)^α of a beam search (arXiv 1609.08144, eq. 14). Default: Vaswani
    et al.'s."""
    label_smoothing: float | None = Field(default=None, ge=0, lt=1, examples=[0.1])
    """Share of the target distribution that is spread over the vocabulary; None: the recipe's, which an architecture
    without a decoder has not. UNILM: 0.1."""
    target_mask_share: float = Field(default=0.7, gt=0, le=1)
    """Share of a target's tokens that a stack without a decoder masks and predicts in training; a decoder predicts
    every token. Default: UNILM's (arXiv 1905.03197, section 2.4)."""
    longest_output: Count | None = None
    """The most tokens of a generated text, its end included; by default the task's `sequence_length`."""
    source_encoder: SourceEncoder | None = Field(default=None, examples=[{"depth": 6, "vocabulary_size": 8000}])
    """A new encoder of the source, for a language that pretraining has not seen. None: the pretrained model reads the
    source as it is."""

"""`fine_tuning.generation`: how targets are written, and an encoder for a source language new to the model.

BART, Lewis et al. 2019, arXiv 1910.13461, section 3.4.
"""

from typing import Annotated, Literal

from pydantic import Field

from search_space.architecture import VOCABULARY_AT_MOST
from search_space.source_encoder import SourceEncoderSizes
from steeplechase.foundation.schema import Count, PositiveNumber, Schema, Share
from steeplechase.tasks.tokenizer import TokenizerDeclaration


class SourceEncoder(SourceEncoderSizes):
    """A new encoder of the pretrained model's width in place of its embeddings of source tokens, and two stages.

    The first stage updates the new encoder, the learned positions of both stacks, and the matrices of queries, keys
    and values of the pretrained encoder's first self-attention; the second updates everything (BART, section 3.4).
    Only an `encoder_decoder` has embeddings of the source alone; what `export` writes is the pretrained model.
    """

    vocabulary_size: Annotated[int, Field(ge=1, le=VOCABULARY_AT_MOST)] | None = Field(default=None, examples=[8000])
    """Tokens of a vocabulary of the source's own, learned from the sources of the training examples; targets keep
    that of pretraining. None: sources have that of pretraining too, so that the encoder alone is new."""
    tokenizer: TokenizerDeclaration | None = Field(default=None, examples=[{"kind": "wordpiece"}])
    """What learns or reads the source's own vocabulary. None: the experiment's tokenizer."""
    first_stage_share: Share = 0.8
    """Share of the updates in the first stage; 1: no others are updated ever (BART's `fixed`), 0: all are from the
    beginning. Default: ours, BART gives none."""
    second_stage_learning_rate: PositiveNumber | None = Field(default=None, examples=[3e-5])
    """Largest learning rate of the second stage, whose schedule begins anew. None: `peak_learning_rate`."""


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

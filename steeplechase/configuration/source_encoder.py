"""`fine_tuning.generation.source_encoder`: fine-tuning on a source language that pretraining has not seen.

BART, Lewis et al. 2019, arXiv 1910.13461, section 3.4.
"""

from typing import Annotated

from pydantic import Field

from search_space.architecture import VOCABULARY_AT_MOST
from search_space.source_encoder import SourceEncoderSizes
from steeplechase.foundation.schema import PositiveNumber, Share
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

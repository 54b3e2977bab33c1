"""Hyperparameters of fine-tuning, and the changes of them that an arm may declare.

Released values: configure_finetuning.py of ELECTRA and ConvBERT; searched values: arXiv 2008.02496.
"""

from typing import Annotated, Any, Literal

from pydantic import Field

from steeplechase.foundation.schema import Count, PositiveNumber, Schema, Share, partial


class FineTuningRecipe(Schema):
    """Hyperparameters of fine-tuning that an arm may change."""

    epochs: Count = Field(default=3, examples=[10])
    """Passes over the training examples."""
    batch_examples: Count = 32
    """Training examples of a batch."""
    peak_learning_rate: PositiveNumber = 3e-4
    """Largest learning rate. Default: ELECTRA-Small's and ConvBERT's releases."""
    layer_rate_decay: Share = Field(default=1.0, gt=0)
    """Layer-wise learning-rate decay: a block's rate as a share of that of the block above; 0.8 in both releases."""
    warmup_share: float = Field(default=0.1, ge=0, lt=1)
    """Share of the updates in which the learning rate rises to its peak. Default: ELECTRA's release."""
    weight_decay: float = Field(default=0.01, ge=0)
    """Decoupled weight decay of AdamW."""
    dropout: float = Field(default=0.1, ge=0, lt=1)
    """Dropout probability during fine-tuning."""
    pooling: Literal["first", "mean", "last"] = "first"
    """Input of the classifier: the [CLS] vector, as in the releases; the mean over the tokens; or the last vector, of
    [SEP], which has read everything in a model that reads left to right (GPT)."""
    language_model_weight: float = Field(default=0.0, ge=0, examples=[0.5])
    """Weight of the examples' language-model loss beside the task's; GPT: 0.5. Needs arms that pretrain with it."""
    transferred_layers: Annotated[int, Field(ge=0)] | None = Field(default=None, examples=[6])
    """Blocks with pretrained weights, beside the embeddings; later ones start anew (GPT, Figure 2). None: all."""


class FineTuningChanges(partial(FineTuningRecipe)):  # type: ignore[misc]
    """What an arm fine-tunes with in place of the experiment's `fine_tuning`, on every task."""

    @property
    def values(self) -> dict[str, Any]:
        """The fields that are set."""
        return {name: value for name in type(self).model_fields if (value := getattr(self, name)) is not None}

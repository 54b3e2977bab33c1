"""A component of a model for cost accounting: parameters, operations per token, saved activations."""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal

from search_space.cost.operation_counts import Operations
from search_space.shape import AttentionShape

Applied = Literal["token", "prediction", "sequence"]
"""How often a component is computed."""


class Role(StrEnum):
    """The function of a component, in the order of the forward pass."""

    EMBEDDINGS = "embeddings"
    PROJECTION = "projection"
    ATTENTION_MAPS = "attention maps"
    ATTENTION_SCORES = "attention scores"
    RELATIVE_SCORES = "relative position scores"
    CONVOLUTION = "convolution branch"
    OUTPUT_MAP = "output map"
    CROSS_ATTENTION_MAPS = "cross-attention maps"
    CROSS_ATTENTION_SCORES = "cross-attention scores"
    CROSS_ATTENTION_OUTPUT = "cross-attention output map"
    FEED_FORWARD = "feed-forward"
    GATED_LINEAR_UNIT = "gated linear unit"
    RECURRENT = "recurrent layer"
    OPERATION_CHAIN = "operation chain"
    SUBLAYER = "further sublayer"
    NORMALISATIONS = "normalisations"
    FINAL_NORM = "final norm"
    OUTPUT_LAYER = "output layer"
    MODULE = "built module"
    VOCABULARY = "vocabulary head"
    DISCRIMINATOR = "discriminator head"
    COPY = "copy head"
    VALUE = "value head"
    SPAN_BOUNDARY = "span boundary head"
    SEGMENT_PAIR = "segment pair head"
    SUPERSENSES = "supersense output layer"
    ENTITY = "entity head"
    QUERY_STREAM = "query stream"

    @property
    def is_head(self) -> bool:
        """Whether pretraining adds a component of this role to the encoder."""
        return self in HEADS

    @property
    def in_block(self) -> bool:
        """Whether every block has a component of this role."""
        outside = (Role.EMBEDDINGS, Role.PROJECTION, Role.FINAL_NORM, Role.OUTPUT_LAYER, Role.MODULE)
        return self not in outside and not self.is_head


HEADS = frozenset(
    (
        *(Role.VOCABULARY, Role.DISCRIMINATOR, Role.COPY, Role.VALUE),
        *(Role.SPAN_BOUNDARY, Role.SEGMENT_PAIR, Role.SUPERSENSES, Role.ENTITY, Role.QUERY_STREAM),
    )
)


@dataclass(frozen=True)
class Component:
    """One component; a model computes `copies` of it, of which `distinct` have parameters of their own."""

    role: Role
    shape: AttentionShape
    """Sizes of the attention sublayers of the model that the component belongs to."""
    parameters: int
    operations: Operations
    """Per token, predicted token or sequence, as `applied_to` says."""
    saved_activations: int = 0
    """Values per token that training saves for the backward pass, dropout masks excluded."""
    copies: int = 1
    owner: str = ""
    """The auxiliary model that the component belongs to; empty for the encoder and its heads."""
    applied_to: Applied = "token"
    """How often it is computed: for every token, for the predicted ones only, or once for a sequence."""
    stored_weights: int = 0
    """Weights of attention per token that are stored, of which a dropout stores a mask and its result; 0 with a fused
    kernel."""
    distinct: int | None = None
    """Copies with parameters of their own; None for all of them."""

    @property
    def name(self) -> str:
        """Name in tables: the role, preceded by the owner."""
        return f"{self.owner} {self.role}".lstrip()

    @property
    def all_parameters(self) -> int:
        """Trainable parameters of all copies, shared ones once."""
        return self.parameters * (self.copies if self.distinct is None else self.distinct)

    def of(self, owner: str, shared: bool) -> "Component":
        """Return the component under another owner; a `shared` one has 0 parameters here, counted elsewhere."""
        return replace(self, owner=owner, parameters=0 if shared else self.parameters)

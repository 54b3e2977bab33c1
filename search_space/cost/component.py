"""A part of a model as it is counted: parameters, operations on one token, and what training keeps of it."""

from dataclasses import dataclass, replace
from enum import StrEnum

from search_space.cost.operation_counts import Operations
from search_space.shape import AttentionShape


class Role(StrEnum):
    """What a part is for, in the order of the data."""

    EMBEDDINGS = "embeddings"
    PROJECTION = "projection"
    ATTENTION_MAPS = "attention maps"
    ATTENTION_SCORES = "attention scores"
    CONVOLUTION = "convolution branch"
    OUTPUT_MAP = "output map"
    FEED_FORWARD = "feed-forward"
    NORMALISATIONS = "normalisations"
    VOCABULARY = "vocabulary head"
    JUDGE = "judge head"

    @property
    def in_block(self) -> bool:
        """Whether every block has a part of this role."""
        return self not in (Role.EMBEDDINGS, Role.PROJECTION, Role.VOCABULARY, Role.JUDGE)


@dataclass(frozen=True)
class Component:
    """One part, once; a model holds `copies` of it."""

    role: Role
    shape: AttentionShape
    """The sizes of the attention sublayers of the model that the part belongs to."""
    parameters: int
    operations: Operations
    """On one token."""
    saved_activations: int = 0
    """Values that training keeps of one token for the backward pass, dropout masks excluded."""
    copies: int = 1
    owner: str = ""
    """The model beside the encoder that the part belongs to; empty for the encoder and its heads."""

    @property
    def name(self) -> str:
        """What a table calls it."""
        return f"{self.owner} {self.role}".lstrip()

    @property
    def all_parameters(self) -> int:
        """Trainable values of all copies."""
        return self.copies * self.parameters

    @property
    def of_predicted_tokens(self) -> bool:
        """Whether it works on the predicted tokens alone."""
        return self.role is Role.VOCABULARY

    def of(self, owner: str, shared: bool) -> "Component":
        """Return the part as another model's; where it is `shared`, its values are counted elsewhere."""
        return replace(self, owner=owner, parameters=0 if shared else self.parameters)

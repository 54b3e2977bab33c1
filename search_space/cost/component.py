"""A component of a model for cost accounting: parameters, operations per token, saved activations."""

from dataclasses import dataclass, replace
from enum import StrEnum

from search_space.cost.operation_counts import Operations
from search_space.shape import AttentionShape


class Role(StrEnum):
    """The function of a component, in the order of the forward pass."""

    EMBEDDINGS = "embeddings"
    PROJECTION = "projection"
    ATTENTION_MAPS = "attention maps"
    ATTENTION_SCORES = "attention scores"
    CONVOLUTION = "convolution branch"
    OUTPUT_MAP = "output map"
    FEED_FORWARD = "feed-forward"
    NORMALISATIONS = "normalisations"
    MODULE = "built module"
    VOCABULARY = "vocabulary head"
    DISCRIMINATOR = "discriminator head"

    @property
    def in_block(self) -> bool:
        """Whether every block has a component of this role."""
        return self not in (Role.EMBEDDINGS, Role.PROJECTION, Role.VOCABULARY, Role.DISCRIMINATOR)


@dataclass(frozen=True)
class Component:
    """One component; a model has `copies` of it."""

    role: Role
    shape: AttentionShape
    """Sizes of the attention sublayers of the model that the component belongs to."""
    parameters: int
    operations: Operations
    """Per token."""
    saved_activations: int = 0
    """Values per token that training saves for the backward pass, dropout masks excluded."""
    copies: int = 1
    owner: str = ""
    """The auxiliary model that the component belongs to; empty for the encoder and its heads."""

    @property
    def name(self) -> str:
        """Name in tables: the role, preceded by the owner."""
        return f"{self.owner} {self.role}".lstrip()

    @property
    def all_parameters(self) -> int:
        """Trainable parameters of all copies."""
        return self.copies * self.parameters

    @property
    def of_predicted_tokens(self) -> bool:
        """Whether it is applied to the predicted tokens only."""
        return self.role is Role.VOCABULARY

    def of(self, owner: str, shared: bool) -> "Component":
        """Return the component under another owner; a `shared` one has 0 parameters here, counted elsewhere."""
        return replace(self, owner=owner, parameters=0 if shared else self.parameters)

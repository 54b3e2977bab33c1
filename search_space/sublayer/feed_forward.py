"""The feed-forward network, optionally grouped or gated. Vaswani et al. 2017, arXiv 1706.03762.

Grouped: ConvBERT, arXiv 2008.02496, eq. 8. Gated: Shazeer 2020, arXiv 2002.05202.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Self, get_args

from search_space.activation import GATED, FeedForwardActivation, activation_operations
from search_space.cost import Component, Operations, Role, linear
from search_space.layer_program import Setting, SublayerKind
from search_space.norm import Norm, norm_parameters, saved_by_norm
from search_space.shape import AttentionShape, linear_parameters
from search_space.sublayer.sublayer import InvalidSetting, LetteredSublayer, StackSizes, refuse_unknown, whole_number


@dataclass(frozen=True)
class FeedForward(LetteredSublayer):
    """Up, activation, down; both maps have the same number of groups."""

    kind: ClassVar[str] = "feed_forward"
    letter: ClassVar[str] = SublayerKind.FEED_FORWARD
    positionwise: ClassVar[bool] = True
    examples: ClassVar[tuple[Mapping[str, Setting], ...]] = (
        {},
        {"groups": 2},
        {"activation": "relu", "middle_norm": 1},
        {"activation": "swiglu", "groups": 2},
    )
    width: int
    inner_width: int
    """Channels that the second map reads; of a gated network the first map has twice as many."""
    groups: int = 1
    activation: FeedForwardActivation = "gelu"
    middle_norm: Norm | None = None
    """The norm of the inner channels before the second map (the code of the Evolved Transformer); None: none."""
    biases: bool = True
    """Whether both maps have biases."""

    @property
    def up_width(self) -> int:
        """Channels of the first map's output."""
        return self.inner_width * (2 if self.activation in GATED else 1)

    @classmethod
    def of(cls, settings: Mapping[str, Setting], sizes: StackSizes) -> Self:
        """Return the sublayer with a program's settings. Raises InvalidSetting."""
        refuse_unknown(cls.letter, settings, ("width", "groups", "activation", "middle_norm"))
        activation = settings.get("activation", sizes.feed_forward_activation)
        allowed = get_args(FeedForwardActivation)
        if activation not in allowed:
            raise InvalidSetting(f"activation={activation} is unknown; allowed: {', '.join(allowed)}")
        middle_norm = settings.get("middle_norm", 0)
        if middle_norm not in (0, 1):
            raise InvalidSetting(f"middle_norm={middle_norm} is neither 0 nor 1")
        return cls(
            width=sizes.width,
            inner_width=whole_number(settings, "width", sizes.feed_forward_width),
            groups=whole_number(settings, "groups", sizes.feed_forward_groups),
            activation=activation,  # type: ignore[arg-type]
            middle_norm=sizes.norm if middle_norm else None,
            biases=sizes.feed_forward_biases,
        )

    def __str__(self) -> str:
        """Return the sizes in words."""
        groups = f", {self.groups} groups" if self.groups > 1 else ""
        return f"feed-forward {self.width} -> {self.inner_width} -> {self.width}{groups}, {self.activation}"

    def components(self, length: int) -> Iterator[Component]:
        """Yield the network as one component."""
        width, inner, up, groups = self.width, self.inner_width, self.up_width, self.groups
        parameters = linear_parameters(width, up, groups, biases=self.biases)
        parameters += linear_parameters(inner, width, groups, biases=self.biases)
        operations = linear(width, up, groups, biases=self.biases) + linear(inner, width, groups, biases=self.biases)
        operations += activation_operations(self.activation, inner) + Operations(additions=width, dropped=width)
        # a rectifier's gradient needs its output alone, which the second map saves too; a product needs both factors
        saved = width + (inner if self.activation == "relu" else up + inner + (inner if up > inner else 0))
        if self.middle_norm:
            parameters += norm_parameters(self.middle_norm, inner)
            operations += Operations(normalised=inner)
            saved += saved_by_norm(self.middle_norm, inner)
        yield Component(Role.FEED_FORWARD, AttentionShape(width, 0, 0), parameters, operations, saved)

    def mistakes(self) -> Iterator[str]:
        """Yield the widths that the groups do not divide."""
        for name, size in (("the model's width", self.width), ("width", self.inner_width)):
            if size % self.groups:
                yield f"groups {self.groups} does not divide {name} {size}"
        if self.middle_norm and self.groups > 1:
            yield f"middle_norm is not defined for {self.groups} groups, only for 1"

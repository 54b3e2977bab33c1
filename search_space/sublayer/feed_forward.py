"""The feed-forward network, optionally grouped. Vaswani et al. 2017, 1706.03762; ConvBERT, 2008.02496, eq. 8."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Self, get_args

from search_space.activation import Activation, activation_operations
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
    )
    width: int
    inner_width: int
    groups: int = 1
    activation: Activation = "gelu"
    middle_norm: Norm | None = None
    """The norm of the inner channels before the second map (the code of the Evolved Transformer); None: none."""

    @classmethod
    def of(cls, settings: Mapping[str, Setting], sizes: StackSizes) -> Self:
        """Return the sublayer with a program's settings. Raises InvalidSetting."""
        refuse_unknown(cls.letter, settings, ("width", "groups", "activation", "middle_norm"))
        activation = settings.get("activation", sizes.feed_forward_activation)
        if activation not in get_args(Activation):
            raise InvalidSetting(f"activation={activation} is unknown; allowed: {', '.join(get_args(Activation))}")
        middle_norm = settings.get("middle_norm", 0)
        if middle_norm not in (0, 1):
            raise InvalidSetting(f"middle_norm={middle_norm} is neither 0 nor 1")
        return cls(
            width=sizes.width,
            inner_width=whole_number(settings, "width", sizes.feed_forward_width),
            groups=whole_number(settings, "groups", sizes.feed_forward_groups),
            activation=activation,  # type: ignore[arg-type]
            middle_norm=sizes.norm if middle_norm else None,
        )

    def __str__(self) -> str:
        """Return the sizes in words."""
        groups = f", {self.groups} groups" if self.groups > 1 else ""
        return f"feed-forward {self.width} -> {self.inner_width} -> {self.width}{groups}, {self.activation}"

    def components(self, length: int) -> Iterator[Component]:
        """Yield the network as one component."""
        width, inner, groups = self.width, self.inner_width, self.groups
        parameters = linear_parameters(width, inner, groups) + linear_parameters(inner, width, groups)
        operations = linear(width, inner, groups) + linear(inner, width, groups)
        operations += activation_operations(self.activation, inner) + Operations(additions=width, dropped=width)
        # a rectifier's gradient needs its output alone, which the second map saves too
        saved = width + (inner if self.activation == "relu" else 2 * inner)
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

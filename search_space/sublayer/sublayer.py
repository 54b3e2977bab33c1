"""What every sublayer declares, and how the settings of a layer program become its sizes."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Self

from pydantic import Field

from search_space.activation import FeedForwardActivation
from search_space.bottleneck import Ratio
from search_space.convolution import Convolution
from search_space.cost import Component
from search_space.layer_program import Setting
from search_space.norm import Norm
from search_space.position.option import PositionOption
from search_space.visibility import Visibility

Window = Annotated[int, Field(ge=2, le=2**20, multiple_of=2)]
"""Tokens around the own one, half of them on each side."""


@dataclass(frozen=True)
class StackSizes:
    """The sizes that sublayers have where the program sets no others."""

    width: int
    heads: int
    """Before the bottleneck."""
    bottleneck_ratio: Ratio
    key_width: int | None
    value_width: int | None
    key_value_heads: int | None
    query_key_norm: bool
    attention_score_cap: float | None
    local: int | None
    convolution: Convolution
    visibility: Visibility
    feed_forward_width: int
    feed_forward_groups: int
    feed_forward_activation: FeedForwardActivation
    feed_forward_biases: bool
    position: PositionOption
    attention_biases: bool
    memory: int
    norm: Norm
    source_width: int | None = None
    """Channels of what cross-attention reads; None for a stack that reads no other."""


class SublayerDeclaration(ABC):
    """The sizes of one sublayer, in a frozen dataclass: equal declarations are equal sublayers."""

    modules: ClassVar[str] = "steeplechase.models.sublayer"
    """The package of the modules."""
    entry: ClassVar[str] = "Sublayer"
    """What the module of a sublayer is named in it."""
    kind: ClassVar[str]
    """Name of its file, of the file of its module, and of its parameters."""
    width: int
    """Channels of the input and of the output."""

    @abstractmethod
    def components(self, length: int) -> Iterator[Component]:
        """Yield its components, counted per token on a sequence of `length` tokens, without norm and residual."""

    @property
    def copies_input(self) -> bool:
        """Whether a copy of the input is saved for the backward pass, and not the input itself."""
        return False

    @property
    def widening(self) -> int:
        """Tokens that its convolutions add to the receptive field: none."""
        return 0

    def mistakes(self) -> Iterator[str]:
        """Yield every rule that the sizes break, in words: none."""
        yield from ()


class LetteredSublayer(SublayerDeclaration):
    """A sublayer that layer programs name."""

    letter: ClassVar[str]
    """A letter, or a word, that no other sublayer has."""
    positionwise: ClassVar[bool] = False
    """Whether the output at a position depends on the input there alone."""
    measurable: ClassVar[bool] = True
    """Whether torch shows its multiply–adds and saved values, as the contracts need; a fused LSTM hides them."""
    examples: ClassVar[tuple[Mapping[str, Setting], ...]] = ({},)
    """Settings at which the contracts check it."""

    @classmethod
    @abstractmethod
    def of(cls, settings: Mapping[str, Setting], sizes: StackSizes) -> Self:
        """Return the sublayer with a program's settings, in a stack of these sizes. Raises InvalidSetting."""


class InvalidSetting(ValueError):
    """A setting of a sublayer in a layer program is unknown or has a value of the wrong type."""


LARGEST_SIZE = 2**31
Size = Annotated[int, Field(ge=1, le=LARGEST_SIZE)]
"""Channels or heads of a sublayer."""


def whole_number(settings: Mapping[str, Setting], name: str, default: int) -> int:
    """Return a setting that is a whole number from 1, or the default. Raises InvalidSetting."""
    value = settings.get(name, default)
    if not isinstance(value, int) or not 1 <= value <= LARGEST_SIZE:
        raise InvalidSetting(f"{name}={value} is no whole number from 1 to {LARGEST_SIZE}")
    return value


def refuse_unknown(letter: str, settings: Mapping[str, Setting], known: tuple[str, ...]) -> None:
    """Raise InvalidSetting for a setting that the sublayer does not have."""
    for name in settings:
        if name not in known:
            allowed = ", ".join(known) if known else "none"
            raise InvalidSetting(f"{name} is no setting of {letter}; its settings: {allowed}")


HEAD_SETTINGS = ("heads", "key_width", "value_width")


class HeadSizes:
    """Properties of a declaration with the fields below."""

    heads: int
    key_width: int
    """Channels of a query and of a key, per head."""
    value_width: int
    """Channels of a value, per head."""

    @property
    def keys(self) -> int:
        """Channels of the queries of all heads."""
        return self.heads * self.key_width

    @property
    def values(self) -> int:
        """Channels of the values of all heads."""
        return self.heads * self.value_width

    @property
    def heads_text(self) -> str:
        """The heads and their channels in words."""
        heads = "1 head" if self.heads == 1 else f"{self.heads} heads"
        if self.key_width == self.value_width:
            return f"{heads} of {self.key_width}"
        return f"{heads} with keys of {self.key_width} and values of {self.value_width}"


def head_sizes(letter: str, settings: Mapping[str, Setting], sizes: StackSizes) -> tuple[int, int, int]:
    """Return heads, and the widths of a key and of a value. Raises InvalidSetting."""
    refuse_unknown(letter, settings, HEAD_SETTINGS)
    heads = whole_number(settings, "heads", sizes.heads)
    key_width = whole_number(settings, "key_width", sizes.key_width or sizes.width // heads or 1)
    value_width = whole_number(settings, "value_width", sizes.value_width or sizes.width // heads or 1)
    if (sizes.key_width is None and "key_width" not in settings) and sizes.width % heads:
        raise InvalidSetting(f"heads={heads} does not divide the width {sizes.width}; set key_width, or other heads")
    return heads, key_width, value_width

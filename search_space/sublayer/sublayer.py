"""What every sublayer declares, and how the settings of a layer program become its sizes."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import ClassVar, Self

from search_space.cost import Component
from search_space.layer_program import Setting
from search_space.sublayer.stack_sizes import StackSizes


class SublayerDeclaration(ABC):
    """The sizes of one sublayer, in a frozen dataclass: equal declarations are equal sublayers."""

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


def whole_number(settings: Mapping[str, Setting], name: str, default: int) -> int:
    """Return a setting that is a whole number from 1, or the default. Raises InvalidSetting."""
    value = settings.get(name, default)
    if not isinstance(value, int) or not 1 <= value <= 2**31:
        raise InvalidSetting(f"{name}={value} is no whole number from 1")
    return value


def refuse_unknown(letter: str, settings: Mapping[str, Setting], known: tuple[str, ...]) -> None:
    """Raise InvalidSetting for a setting that the sublayer does not have."""
    for name in settings:
        if name not in known:
            allowed = ", ".join(known) if known else "none"
            raise InvalidSetting(f"{name} is no setting of {letter}; its settings: {allowed}")

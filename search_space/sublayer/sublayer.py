"""What every sublayer declares, and how the settings of a layer program become its sizes."""

from collections.abc import Iterator, Mapping
from typing import ClassVar, Protocol, runtime_checkable

from search_space.cost import Component

Setting = int | float | str


@runtime_checkable
class SublayerDeclaration(Protocol):
    """The sizes of one sublayer. Equal declarations are equal sublayers."""

    kind: ClassVar[str]
    """Name of its file, of the file of its module, and of its parameters."""

    @property
    def width(self) -> int:
        """Channels of the input and of the output."""

    @property
    def widening(self) -> int:
        """Tokens that its convolutions add to the receptive field."""

    def components(self, length: int) -> Iterator[Component]:
        """Yield its components, counted per token on a sequence of `length` tokens, without norm and residual."""

    def mistakes(self) -> Iterator[str]:
        """Yield every rule that the sizes break, in words."""


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

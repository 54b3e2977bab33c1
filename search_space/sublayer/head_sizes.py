"""Widths that follow from the number of heads and their channels, for every kind of attention."""

from collections.abc import Mapping

from search_space.layer_program import Setting
from search_space.sublayer.stack_sizes import StackSizes
from search_space.sublayer.sublayer import InvalidSetting, refuse_unknown, whole_number


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
    refuse_unknown(letter, settings, ("heads", "key_width", "value_width"))
    heads = whole_number(settings, "heads", sizes.heads)
    key_width = whole_number(settings, "key_width", sizes.key_width or sizes.width // heads or 1)
    value_width = whole_number(settings, "value_width", sizes.value_width or sizes.width // heads or 1)
    if (sizes.key_width is None and "key_width" not in settings) and sizes.width % heads:
        raise InvalidSetting(f"heads={heads} does not divide the width {sizes.width}; set key_width, or other heads")
    return heads, key_width, value_width

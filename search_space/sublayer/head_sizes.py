"""Widths that follow from the number of heads and their channels, for every kind of attention."""


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

"""What every option of selection has: the number of selected tokens of a sequence."""

from typing import ClassVar

from steeplechase.foundation.schema import OpenOption


class SelectionOption(OpenOption):
    """An option that selects at most a number of tokens, which depends on the rate and the length alone."""

    package: ClassVar[str] = "search_space.selection"
    modules: ClassVar[str] = "steeplechase.tasks.selection"

    def budget(self, rate: float, length: int) -> int:
        """Return the maximum number of tokens selected in a sequence of `length`: 19 of 128 at 15%, as ELECTRA's."""
        return int((rate + 0.005) * length)

"""Language modelling by the decoder: the source has no token. BART, arXiv 1910.13461, section 4.1, Language Model."""

from typing import ClassVar, Literal

from search_space.corruption.option import WholeTarget


class Empty(WholeTarget):
    """Each token is predicted from those before it alone."""

    is_random: ClassVar[bool] = False

    kind: Literal["empty"] = "empty"
    """Chooses an empty source."""

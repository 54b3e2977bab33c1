"""Token masking: some tokens are replaced by [MASK], the whole text is predicted. BART, arXiv 1910.13461, 2.2."""

from typing import Literal

from search_space.corruption.option import WithRate


class TokenMasking(WithRate):
    """The source is as long as the text."""

    kind: Literal["token_masking"] = "token_masking"
    """Chooses token masking."""

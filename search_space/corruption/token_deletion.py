"""Token deletion: some tokens are left out, and the model must find where. BART, arXiv 1910.13461, section 2.2."""

from typing import Literal

from search_space.corruption.option import WithRate


class TokenDeletion(WithRate):
    """The source is a subsequence of the text."""

    kind: Literal["token_deletion"] = "token_deletion"
    """Chooses token deletion."""

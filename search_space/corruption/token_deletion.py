"""Token deletion: some tokens are left out, and the model must find where. BART, arXiv 1910.13461, section 2.2."""

from typing import Literal

from search_space.corruption.option import WithRate
from search_space.corruption.row import Context, Corrupted, chosen, whole_target
from steeplechase.foundation.numpy_on_use import Numbers, np


class TokenDeletion(WithRate):
    """The source is a subsequence of the text."""

    kind: Literal["token_deletion"] = "token_deletion"
    """Chooses token deletion."""

    def corrupted(self, tokens: Numbers, context: Context) -> Corrupted:
        """Return what is left of the text, with the whole text as its target."""
        places = chosen(round(self.rate * len(tokens)), len(tokens), context.random)
        return whole_target(np.delete(tokens, places), tokens, context.tokenizer)

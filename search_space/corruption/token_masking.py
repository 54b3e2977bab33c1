"""Token masking: some tokens are replaced by [MASK], the whole text is predicted. BART, arXiv 1910.13461, 2.2."""

from typing import Literal

from search_space.corruption.option import WithRate
from search_space.corruption.row import Context, Corrupted, chosen, masked_at, whole_target
from steeplechase.foundation.numpy_on_use import Numbers


class TokenMasking(WithRate):
    """The source is as long as the text."""

    kind: Literal["token_masking"] = "token_masking"
    """Chooses token masking."""

    def corrupted(self, tokens: Numbers, context: Context) -> Corrupted:
        """Return the masked text with the whole text as its target."""
        places = chosen(round(self.rate * len(tokens)), len(tokens), context.random)
        return whole_target(masked_at(tokens, places, context.tokenizer), tokens, context.tokenizer)

"""Masked language modelling by the decoder: masked tokens alone, each on its own. BART, arXiv 1910.13461, 4.1."""

from typing import Literal

from pydantic import Field

from search_space.corruption.option import CorruptionOption
from search_space.corruption.row import Context, Corrupted, chosen, masked_at
from steeplechase.foundation.numpy_on_use import Numbers, np


class MaskedTokens(CorruptionOption):
    """The decoder reads a [MASK] at each masked place, so that no prediction sees another's token."""

    kind: Literal["masked_tokens"] = "masked_tokens"
    """Chooses masked language modelling."""
    rate: float = Field(default=0.15, gt=0, le=1)
    """Share of the tokens. Default: BERT's, which BART's comparison has."""

    def predictions(self, tokens: int) -> int:
        """Return the masked tokens."""
        return max(1, round(self.rate * tokens))

    def corrupted(self, tokens: Numbers, context: Context) -> Corrupted:
        """Return the masked text with the masked tokens as its target."""
        places = chosen(self.predictions(len(tokens)), len(tokens), context.random)
        inputs = np.full(len(places), context.tokenizer.mask, np.int64)
        return Corrupted(masked_at(tokens, places, context.tokenizer), inputs, places, tokens[places])

"""Permuted language modelling by the decoder: some tokens in a random order. BART, arXiv 1910.13461, section 4.1.

After XLNet (arXiv 1906.08237), which predicts them in one stack with two streams. Here the decoder reads at each step
the token before it in the order, at the place of the token that it predicts.
"""

from typing import Literal

from pydantic import Field

from search_space.corruption.option import CorruptionOption
from search_space.corruption.row import Context, Corrupted, masked_at
from steeplechase.foundation.numpy_on_use import Numbers, np


class PermutedTokens(CorruptionOption):
    """The source hides the drawn tokens; each is predicted from the source and those before it in the order."""

    kind: Literal["permuted_tokens"] = "permuted_tokens"
    """Chooses permuted language modelling."""
    rate: float = Field(default=1 / 6, gt=0, le=1)
    """Share of the tokens. Default: that of BART's comparison."""

    def predictions(self, tokens: int) -> int:
        """Return the drawn tokens."""
        return max(1, round(self.rate * tokens))

    def corrupted(self, tokens: Numbers, context: Context) -> Corrupted:
        """Return the text without the drawn tokens, and these in a random order as its target."""
        order = context.random.permutation(len(tokens))[: self.predictions(len(tokens))]
        targets = tokens[order]
        inputs = np.concatenate(([context.tokenizer.mask], targets[:-1]))
        return Corrupted(masked_at(tokens, order, context.tokenizer), inputs, order, targets)

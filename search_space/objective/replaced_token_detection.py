"""Replaced token detection: find the tokens that a small generator replaced. Clark et al. 2020, arXiv 2003.10555."""

from typing import Literal

from search_space.objective.replaced_tokens import ReplacedTokens


class ReplacedTokenDetection(ReplacedTokens):
    """A generator samples tokens at the masked positions; the discriminator classifies every token."""

    kind: Literal["replaced_token_detection"] = "replaced_token_detection"
    """Chooses replaced token detection, with a generator beside the encoder."""

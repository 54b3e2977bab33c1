"""ELECTRA 15%: replaced token detection at the masked tokens alone. Clark et al. 2020, arXiv 2003.10555."""

from typing import Literal

from search_space.objective.replaced_tokens import ReplacedTokens


class Electra15Percent(ReplacedTokens):
    """A generator samples tokens at the masked positions; the discriminator classifies these tokens and no others.

    Its held-out loss is of the masked tokens too, so it is not comparable with that of replaced token detection.
    """

    kind: Literal["electra_15_percent"] = "electra_15_percent"
    """Chooses replaced token detection at the masked tokens alone."""

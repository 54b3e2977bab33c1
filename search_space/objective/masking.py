"""Masking: how positions are drawn and corrupted. ELECTRA's release, configure_pretraining."""

from collections.abc import Iterator
from typing import Any

from pydantic import Field

from foundation.errors import Violation
from foundation.schema import VARIANT_KEY, Share
from search_space.objective.pretraining_objective import PretrainingObjective


class Masking(PretrainingObjective):
    """A share of the tokens is predicted; most of them are replaced by [MASK].

    Shared by the objectives that mask tokens. Positions are drawn without replacement (ELECTRA's release draws with
    replacement, which leaves about 13.8% of a sequence of 128). Special tokens and padding are never drawn.
    """

    mask_rate: float = Field(default=0.15, gt=0, lt=1)
    """Share of the tokens that is predicted. Default: BERT and ELECTRA-Small."""
    mask_token_share: Share = 0.85
    """Share of the predicted positions replaced by [MASK]; the rest keep their token. Default: ELECTRA."""
    random_token_share: Share = 0.0
    """Share of the predicted positions replaced by a random token. BERT: 0.1, with 0.8 replaced by [MASK]."""

    @property
    def description(self) -> str:
        """The name and the share of predicted tokens."""
        return f"{self.name}, {self.mask_rate:.0%} of the tokens predicted"

    @property
    def masking_fields(self) -> dict[str, Any]:
        """The values of the fields that all objectives with masks share."""
        return {name: getattr(self, name) for name in Masking.model_fields if name != VARIANT_KEY}

    def predictions(self, length: int) -> int:
        """Return the number of predicted positions: 19 of 128 at 15%; never [CLS] or the last [SEP]."""
        return max(1, min(length - 2, int((self.mask_rate + 0.005) * length)))

    def violations(self) -> Iterator[Violation]:
        """Yield every rule that the values break together."""
        if self.mask_token_share + self.random_token_share > 1:
            total = f"mask_token_share {self.mask_token_share} + random_token_share {self.random_token_share}"
            yield Violation(("random_token_share",), f"{total} is more than 1; the two are parts of one whole")

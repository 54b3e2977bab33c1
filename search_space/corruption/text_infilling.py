"""Text infilling: spans are replaced by one [MASK] each. Lewis et al. 2019, BART, arXiv 1910.13461, section 2.2."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from search_space.corruption.option import WithRate
from steeplechase.foundation.schema import JsonValue, PositiveNumber


class TextInfilling(WithRate):
    """Span lengths are drawn from a Poisson distribution; a span of length 0 inserts a [MASK]."""

    examples: ClassVar[tuple[Mapping[str, JsonValue], ...]] = ({}, {"permute_sentences": True})

    kind: Literal["text_infilling"] = "text_infilling"
    """Chooses text infilling."""
    mean_span: PositiveNumber = 3.0
    """Mean of the Poisson distribution of span lengths, in tokens. Default: BART's."""
    permute_sentences: bool = False
    """Whether the sentences are permuted first, as in BART's large model (section 5.1)."""

    @property
    def evaluation(self) -> str:
        """The kind, and whether sentences are permuted."""
        return f"{self.kind}_of_permuted_sentences" if self.permute_sentences else self.kind

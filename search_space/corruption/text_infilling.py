"""Text infilling: spans are replaced by one [MASK] each. Lewis et al. 2019, BART, arXiv 1910.13461, section 2.2."""

import math
from collections.abc import Mapping
from typing import ClassVar, Literal

from search_space.corruption.option import WithRate
from search_space.corruption.row import Context, Corrupted, whole_target
from search_space.corruption.sentence_permutation import permuted_sentences
from steeplechase.foundation.numpy_on_use import Numbers, Random, np
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

    def corrupted(self, tokens: Numbers, context: Context) -> Corrupted:
        """Return the infilled text, with the whole text as its target."""
        shown = permuted_sentences(tokens, context) if self.permute_sentences else tokens
        lengths = span_lengths(math.ceil(self.rate * len(tokens)), self.mean_span, context.random)
        return whole_target(_infilled(shown, lengths, context), tokens, context.tokenizer)


def span_lengths(budget: int, mean: float, random: Random) -> Numbers:
    """Return Poisson lengths that add up to the budget; the last one is cut, and zeros between them are kept."""
    lengths: list[int] = []
    while sum(lengths) < budget:
        lengths.append(min(int(random.poisson(mean)), budget - sum(lengths)))
    return np.asarray(lengths, np.int64)


def _infilled(tokens: Numbers, lengths: Numbers, context: Context) -> Numbers:
    """Return the tokens with a [MASK] for each span.

    Starts are drawn without replacement, so that spans may overlap: as in fairseq, less than the budget is hidden.
    A span that begins inside another keeps its own [MASK] here; fairseq deletes it with the rest of the other span.
    """
    spans = lengths[lengths > 0]
    starts = context.random.choice(len(tokens), min(len(spans), len(tokens)), replace=False)
    hidden, begins = np.zeros(len(tokens), bool), np.zeros(len(tokens), bool)
    for start, length in zip(starts, spans, strict=False):
        hidden[start : start + length] = True
        begins[start] = True
    mask = context.tokenizer.mask
    kept = np.where(begins, mask, tokens)[~hidden | begins]
    inserted = context.random.integers(0, len(kept) + 1, int((lengths == 0).sum()))
    return np.insert(kept, inserted, mask)

"""Text infilling: each drawn span is one [MASK]; spans of length 0 are inserted. fairseq's denoising_dataset.py."""

import math

import numpy as np

from search_space.corruption import TextInfilling
from steeplechase.tasks.corruption.row import Context, Corrupted, Numbers, whole_target
from steeplechase.tasks.corruption.sentence_permutation import permuted_sentences


def corrupted(tokens: Numbers, option: TextInfilling, context: Context) -> Corrupted:
    """Return the infilled text, with the whole text as its target."""
    shown = permuted_sentences(tokens, context) if option.permute_sentences else tokens
    lengths = span_lengths(math.ceil(option.rate * len(tokens)), option.mean_span, context.random)
    return whole_target(_infilled(shown, lengths, context), tokens, context.tokenizer)


def span_lengths(budget: int, mean: float, random: np.random.Generator) -> Numbers:
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

"""Token masking: the source has [MASK] in place of the drawn tokens."""

from search_space.corruption import TokenMasking
from steeplechase.tasks.corruption.row import Context, Corrupted, Numbers, chosen, masked_at, whole_target


def corrupted(tokens: Numbers, option: TokenMasking, context: Context) -> Corrupted:
    """Return the masked text with the whole text as its target."""
    places = chosen(round(option.rate * len(tokens)), len(tokens), context.random)
    return whole_target(masked_at(tokens, places, context.tokenizer), tokens, context.tokenizer)

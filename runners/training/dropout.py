"""The seed of dropout, set before every update, so that a resumed training draws the same patterns."""

import torch


def seed_dropout(seed: int) -> None:
    """Seed the generators that dropout draws from.

    On a machine without an accelerator that is one; `torch.manual_seed` would record the call stack for the others.
    """
    if torch.accelerator.is_available():
        torch.manual_seed(seed)
    else:
        torch.default_generator.manual_seed(seed)

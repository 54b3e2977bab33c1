"""Makes a source and a target of a text: one file per option of `search_space.corruption`.

Each file defines `corrupted(tokens, option, context)`, from the tokens of a text without special ones [tokens].
"""

from importlib import import_module

from search_space.corruption import CorruptionOption
from steeplechase.tasks.corruption.row import Context, Corrupted, Numbers


def corrupt(tokens: Numbers, option: CorruptionOption, context: Context) -> Corrupted:
    """Return the source and the target of a text; a function of the text and the random stream alone."""
    found: Corrupted = import_module(f"steeplechase.tasks.corruption.{option.kind}").corrupted(
        tokens, option, context
    )
    return found


__all__ = ["Context", "Corrupted", "Numbers", "corrupt"]

"""How positions enter the embeddings or the scores: one file per option, named as in `search_space.position`."""

from importlib import import_module

from torch import nn

from search_space.position import Position
from search_space.sublayer.attention import SelfAttention


def build_positions(option: Position, positions: int, width: int) -> nn.Module:
    """Return the module of an option: from a length to the encodings [seq width], or a number that adds nothing."""
    module: nn.Module = import_module(f"steeplechase.models.position.{option.kind}").build(option, positions, width)
    return module


def build_position_scores(declaration: SelfAttention) -> nn.Module | None:
    """Return the module of positions that enter the scores of an attention sublayer, None if none do.

    From queries [batch heads queries head_dim] and a number of keys to queries and terms [batch heads queries keys].
    """
    if declaration.position is None:
        return None
    module: nn.Module = import_module(f"steeplechase.models.position.{declaration.position.kind}").build_scores(
        declaration
    )
    return module

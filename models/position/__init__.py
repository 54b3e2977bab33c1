"""How positions enter the embeddings: one file per option, named as in `search_space.position`."""

from importlib import import_module

from torch import nn

from search_space.position import Position


def build_positions(option: Position, positions: int, width: int) -> nn.Module:
    """Return the module of an option: from a length to the encodings [seq width], or a number that adds nothing."""
    module: nn.Module = import_module(f"models.position.{option.kind}").build(option, positions, width)
    return module

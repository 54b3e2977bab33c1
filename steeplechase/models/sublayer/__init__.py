"""Sublayers of a block: one file per kind, named as in `search_space.sublayer`."""

from torch import nn

from search_space.sublayer.sublayer import SublayerDeclaration
from steeplechase.foundation.option_modules import module_of


def build_sublayer(declaration: SublayerDeclaration, dropout_rate: float) -> nn.Module:
    """Return the module of a sublayer: from [batch seq width], a padding mask and a context to [batch seq width]."""
    module: nn.Module = module_of(declaration).Sublayer(declaration, dropout_rate)
    return module

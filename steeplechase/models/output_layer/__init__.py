"""From the vectors that predict to probabilities of tokens: one file per option of `search_space.output_layer`."""

from search_space.architecture import Architecture
from search_space.output_layer.option import OutputLayerOption
from steeplechase.foundation.option_modules import module_of
from steeplechase.models.heads.output_head import OutputHead

__all__ = ["OutputHead", "build_output_layer"]


def build_output_layer(option: OutputLayerOption, architecture: Architecture) -> OutputHead:
    """Return the module of an option."""
    module: OutputHead = module_of(option).build(option, architecture)
    return module

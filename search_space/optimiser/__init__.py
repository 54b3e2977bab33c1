"""The optimiser of pretraining: one file per option, each with the parameters that it alone has."""

from typing import Annotated

from search_space.optimiser.adam import Adam
from search_space.optimiser.adamw import AdamW
from search_space.optimiser.lamb import Lamb
from search_space.optimiser.option import OptimiserOption
from search_space.optimiser.sgd import Sgd
from steeplechase.foundation.schema import OPTION

Optimiser = Annotated[OptimiserOption, OPTION]

__all__ = ["Adam", "AdamW", "Lamb", "Optimiser", "OptimiserOption", "Sgd"]

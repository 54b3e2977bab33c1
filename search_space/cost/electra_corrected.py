"""As ELECTRA counts, without its script's two slips: the values at their own width, both normalisations whole."""

from dataclasses import replace

from search_space.cost import electra
from search_space.cost.flop_convention import no_slip

CONVENTION = replace(
    electra.CONVENTION,
    name="electra_corrected",
    rule="as electra, with the weighted average at its own width and both normalisations whole",
    slip=no_slip,
)

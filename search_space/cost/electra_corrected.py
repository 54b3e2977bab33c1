"""ELECTRA's convention without the two miscounts of its script."""

from dataclasses import replace

from search_space.cost import electra
from search_space.cost.flop_convention import no_miscount

CONVENTION = replace(
    electra.CONVENTION,
    name="electra_corrected",
    rule="as electra, with the weighted average at its own width and both normalisations whole",
    miscount=no_miscount,
)

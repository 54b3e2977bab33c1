"""The arms that a design's sets of components are, whichever design declared them."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from reports.statistics.results import Results
from search_space.overrides import InvalidOverride, applied
from steeplechase.analysis.shapley import Coalition, all_orders
from steeplechase.configuration.designs.components import ComponentDesign
from steeplechase.foundation.schema import canonical, canonical_text
from steeplechase.ledger.records import ArmRow

LARGEST = 8
"""Most components of which every set is looked for: of more there are over 256."""


def arms_by_components(
    results: Results, design: ComponentDesign, coalitions: Iterable[Coalition]
) -> Mapping[Coalition, ArmRow]:
    """Return the arm that is the baseline with exactly these components, for the sets for which there is one."""
    by_identity = {arm.identity: arm for arm in results.arms}
    found = ((each, by_identity.get(_identity(results, design, each))) for each in coalitions)
    return {each: arm for each, arm in found if arm is not None}


def _identity(results: Results, design: ComponentDesign, coalition: Coalition) -> str:
    try:
        return canonical_text(canonical(applied(results.experiment.baseline, design.together(tuple(coalition)))))
    except InvalidOverride:
        return ""


def complete_components(results: Results) -> tuple[ArmRow, ...]:
    """Return the arms of the first design of which every set of components is an arm, with the components as levels.

    Empty where no design's sets are all there. The components' levels replace those that other designs gave an arm.
    """
    designs = (design for design in results.experiment.designs if isinstance(design, ComponentDesign))
    for design in designs:
        names = tuple(design.components)
        if 2 <= len(names) <= LARGEST and 2 ** len(names) <= len(results.arms):
            every = all_orders(names).coalitions
            arms = arms_by_components(results, design, every)
            if len(arms) == len(every):
                return tuple(replace(arm, levels=design.present_or_not(tuple(each))) for each, arm in arms.items())
    return ()

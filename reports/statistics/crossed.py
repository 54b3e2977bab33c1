"""The arms that a design's sets of components are, whichever design declared them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from reports.statistics.levels import factors_of
from reports.statistics.results import Results
from search_space.candidate import Candidate
from search_space.overrides import InvalidOverride, applied
from steeplechase.analysis.contrasts import CrossedDesign, Levels
from steeplechase.analysis.shapley import Coalition, all_orders
from steeplechase.configuration.designs import Factorial
from steeplechase.configuration.designs.components import ComponentDesign
from steeplechase.configuration.designs.factorial import crossed, missing_runs_warning, uncrossed
from steeplechase.configuration.designs.point import Changes, label, level
from steeplechase.foundation.canonical import canonical, canonical_text
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.records import ArmRow

LARGEST = 8
"""Most components of which every set is looked for: of more there are over 256."""


def arms_by_components(
    results: Results, design: ComponentDesign, coalitions: Iterable[Coalition]
) -> Mapping[Coalition, ArmRow]:
    """Return the arm that is the baseline with exactly these components, for the sets for which there is one."""
    by_identity = {arm.identity: arm for arm in results.arms}
    found = ((each, by_identity.get(identity_of(results, design.together(tuple(each))))) for each in coalitions)
    return {each: arm for each, arm in found if arm is not None}


def identity_of(results: Results, changes: Changes) -> str:
    """Return the identity of the baseline with these changes; empty where they are impossible."""
    experiment = results.experiment
    try:
        changed = applied(experiment.baseline, experiment.rules.in_effect(changes, experiment.baseline))
    except InvalidOverride:
        return ""
    return canonical_text(canonical(changed))


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


@dataclass(frozen=True)
class CrossedArms:
    """A crossed design, the arm of each remaining run, and each factor's reference level as text."""

    design: CrossedDesign
    arms: Mapping[Levels, str]
    references: tuple[str, ...]
    values: tuple[tuple[JsonValue, ...], ...] = ()
    """By factor, the values of its levels; empty where arms alone tell them."""

    def levels_of(self, run: Levels) -> dict[str, JsonValue]:
        """Return the value of every factor at a run."""
        places = zip(self.design.factors, self.values, run, strict=True)
        return {factor: values[place] for factor, values, place in places}


def crossed_arms(results: Results) -> CrossedArms | None:
    """Return the crossed arms of a table; None without a crossed design.

    With one declared factorial these are its runs, some of which may be missing because they are impossible or not
    arms yet. If none is missing, effects are against the baseline's levels, if it is a run. Without a declared
    factorial these are all arms, if they form one; else the arms that are every set of a design's components.
    """
    declared = _declared(results)
    baseline = results.experiment.baseline
    if declared is None:
        every = arms_that_cross(results.arms, baseline) if _components_mean_one_thing(results) else None
        return every or arms_that_cross(complete_components(results), baseline)
    if declared.design.missing:
        return declared
    levels = {arm: run for run, arm in declared.arms.items()}
    members = [
        replace(arm, levels=declared.levels_of(levels[arm.name])) for arm in results.arms if arm.name in levels
    ]
    return arms_that_cross(members, baseline, declared.design.factors) or declared


def _components_mean_one_thing(results: Results) -> bool:
    """Return whether no two designs add different changes by the same name; the name is no factor then."""
    designs = [design for design in results.experiment.designs if isinstance(design, ComponentDesign)]
    meanings = {(name, canonical_text(level(each))) for one in designs for name, each in one.components.items()}
    return len(meanings) == len({name for name, _ in meanings})


def arms_that_cross(arms: Sequence[ArmRow], baseline: Candidate, chosen: Sequence[str] = ()) -> CrossedArms | None:
    """Return arms as a crossed design by their levels, the baseline's first; None if they do not form one."""
    arm_factors = factors_of(arms, baseline, chosen)
    if arm_factors is None or len(arm_factors[0]) < 2:
        return None
    factors, levels = arm_factors
    by_levels = {run: arm for arm, run in levels.items()}
    if len(by_levels) < len(levels):
        return None  # two arms at the same levels differ in something else
    names = tuple(tuple(map(factor.at, range(len(factor.values)))) for factor in factors)
    runs = tuple(by_levels)
    design = CrossedDesign(tuple(factor.name for factor in factors), names, runs, runs)
    if not design.full:
        return None
    return CrossedArms(design, by_levels, tuple(factor.reference for factor in factors))


def _declared(results: Results) -> CrossedArms | None:
    """Return the runs of the experiment's factorial; None without one or with several.

    Also None for ledgers of earlier versions, whose arms have no levels.
    """
    crossed_designs = [design for design in results.experiment.designs if isinstance(design, Factorial)]
    if len(crossed_designs) != 1 or not any(arm.levels for arm in results.arms):
        return None
    factorial, baseline = crossed_designs[0], results.experiment.baseline
    design = crossed(factorial, baseline)
    if design is None:
        return None
    by_identity = {arm.identity: arm.name for arm in results.arms}
    found = {
        run: by_identity.get(identity_of(results, point.changes))
        for run, point in zip(design.runs, factorial.points(baseline), strict=True)
    }
    arms = {run: arm for run, arm in found.items() if arm is not None}
    values = tuple(tuple(map(level, each)) for each in factorial.vary.values())
    references = tuple(label(each[0]) for each in values)
    return CrossedArms(design.without(set(design.runs) - arms.keys()), arms, references, values)


def missing_runs_note(results: Results) -> str:
    """Return the note on effects lost with missing runs, or of factorials without any; empty where none is lost."""
    factorials = [design for design in results.experiment.designs if isinstance(design, Factorial)]
    if factorials and crossed_arms(results) is None:
        reason = uncrossed(factorials, results.experiment.baseline)
        return reason and f"The design: {reason}."
    declared = _declared(results) if results.snapshot.impossible else None
    if declared is None or not declared.design.missing:
        return ""
    return f"The factorial: {missing_runs_warning(declared.design)}."

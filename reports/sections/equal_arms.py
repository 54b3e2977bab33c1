"""Arms that equal the baseline in every value at every seed.

Where a loss is among the values, what differs between the arms has no effect. Scores alone count examples: two
models that predict one class for all have equal ones.
"""

from reports.section import Section
from reports.statistics.results import Results
from steeplechase.configuration.arm import BASELINE

TERM = "Equal arms"


def _equal_arms(results: Results) -> str:
    """Return the arms whose values of every metric and seed are all the baseline's; empty without such an arm."""
    baseline = results.measured_values.get(BASELINE, {})
    by_paths: dict[tuple[str, ...], list[str]] = {}
    for arm in results.arms:
        if arm.name != BASELINE and baseline and results.measured_values.get(arm.name) == baseline:
            by_paths.setdefault(tuple(arm.changes), []).append(arm.name)
    said = []
    for paths, arms in by_paths.items():
        changed, has = ", ".join(paths) or "what differs between them", "have" if len(paths) > 1 else "has"
        named = f"arm{'' if len(arms) == 1 else 's'} {', '.join(arms)}"
        meaning = (
            f"{changed} {has} no effect"
            if any(metric.endswith("loss") for metric in baseline)
            else f"scores count examples, so that this is no proof that {changed} {has} no effect"
        )
        said.append(f"{named} and the baseline have equal values in every seed: {meaning}")
    return "; ".join(said)


SECTION = Section(
    "equal_arms",
    clauses=lambda results: [_equal_arms(results)],
    conditions=lambda results: [(TERM, _equal_arms(results))],
)

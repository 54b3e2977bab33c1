"""Arms that equal the baseline in every value at every seed: what differs between them reaches nothing."""

from reports.section import Section
from reports.statistics.results import Results
from steeplechase.configuration.arm import BASELINE

TERM = "Equal arms"


def _equal_arms(results: Results) -> str:
    """Return the arms whose values of every metric and seed are all the baseline's; empty without such an arm."""
    baseline = results.values.get(BASELINE, {})
    by_paths: dict[tuple[str, ...], list[str]] = {}
    for arm in results.arms:
        if arm.name != BASELINE and baseline and results.values.get(arm.name) == baseline:
            by_paths.setdefault(tuple(arm.changes), []).append(arm.name)
    said = []
    for paths, arms in by_paths.items():
        changed, reaches = ", ".join(paths) or "what differs between them", "reach" if len(paths) > 1 else "reaches"
        named = f"arm{'' if len(arms) == 1 else 's'} {', '.join(arms)}"
        said.append(f"{named} and the baseline have equal values in every seed: {changed} {reaches} nothing")
    return "; ".join(said)


SECTION = Section(
    "equal_arms",
    clauses=lambda results: [_equal_arms(results)],
    conditions=lambda results: [(TERM, _equal_arms(results))],
)

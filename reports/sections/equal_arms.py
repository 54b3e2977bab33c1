"""Arms that equal the baseline in every value at every seed: what differs between them reaches nothing."""

from collections.abc import Iterator

from reports.section import Section
from reports.statistics.evidence import Evidence
from reports.statistics.results import Results
from steeplechase.configuration.arm import BASELINE

TERM = "Equal arms"


def equal_arms_clause(results: Results) -> str:
    """Return the arms whose values of every metric and seed are all the baseline's; empty without such an arm."""
    baseline = results.values.get(BASELINE, {})
    by_paths: dict[tuple[str, ...], list[str]] = {}
    for arm in results.arms:
        if arm.name != BASELINE and baseline and results.values.get(arm.name) == baseline:
            by_paths.setdefault(tuple(arm.changes), []).append(arm.name)
    return "; ".join(_said(paths, arms) for paths, arms in by_paths.items())


def _said(paths: tuple[str, ...], arms: list[str]) -> str:
    changed = ", ".join(paths) or "what differs between them"
    reaches = "reach" if len(paths) > 1 else "reaches"
    named = f"arm{'' if len(arms) == 1 else 's'} {', '.join(arms)}"
    return f"{named} and the baseline have equal values in every seed: {changed} {reaches} nothing"


def _conditions(evidence: Evidence) -> Iterator[tuple[str, str]]:
    if text := equal_arms_clause(evidence.results):
        yield TERM, text


SECTION = Section(
    "equal_arms", clauses=lambda evidence: [equal_arms_clause(evidence.results)], conditions=_conditions
)

"""Arms that equal the baseline in every value at every seed: what differs between them reaches nothing."""

from collections.abc import Iterator

from reports.statistics.results import Results
from steeplechase.configuration.arm import BASELINE

TERM = "Equal arms"


def equal_arms(results: Results) -> dict[str, tuple[str, ...]]:
    """Return the arms whose values of every metric and seed are all the baseline's, each with what it changes."""
    baseline = results.values.get(BASELINE, {})
    return {
        arm.name: tuple(arm.changes)
        for arm in results.arms
        if arm.name != BASELINE and baseline and results.values.get(arm.name) == baseline
    }


def equal_arms_clause(results: Results) -> str:
    """Return the clause of the finding; empty without such an arm."""
    return "; ".join(_said(results))


def equal_arms_notes(results: Results) -> Iterator[tuple[str, str]]:
    """Yield the footer's note; none without such an arm."""
    if text := equal_arms_clause(results):
        yield TERM, text


def _said(results: Results) -> Iterator[str]:
    by_paths: dict[tuple[str, ...], list[str]] = {}
    for arm, paths in equal_arms(results).items():
        by_paths.setdefault(paths, []).append(arm)
    for paths, arms in by_paths.items():
        changed = ", ".join(paths) or "what differs between them"
        reaches = "reach" if len(paths) > 1 else "reaches"
        named = f"arm{'' if len(arms) == 1 else 's'} {', '.join(arms)}"
        yield f"{named} and the baseline have equal values in every seed: {changed} {reaches} nothing"

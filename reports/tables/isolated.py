"""Isolated effects: pairs of arms that differ in one path and in nothing else.

The baseline against an arm with one change is such a pair too, but the main table shows it already.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from reports.results import Results
from reports.tables.table import Row, Table, interval, table
from runners.kept.records import ArmRow


@dataclass(frozen=True)
class IsolatedPair:
    """`arm` has a change at `path` that `reference` lacks; all else is equal."""

    arm: str
    reference: str
    path: str


def isolated_pairs(arms: tuple[ArmRow, ...]) -> tuple[IsolatedPair, ...]:
    """Return every such pair in the arms' order; the reference has changes of its own, so it is not the baseline."""
    return tuple(_pairs(arms))


def _pairs(arms: tuple[ArmRow, ...]) -> Iterator[IsolatedPair]:
    for arm in arms:
        for reference in arms:
            extra = arm.changes.keys() - reference.changes.keys()
            if reference.changes and len(extra) == 1 and len(arm.changes) == len(reference.changes) + 1:
                (path,) = extra
                if all(arm.changes[shared] == value for shared, value in reference.changes.items()):
                    yield IsolatedPair(arm.name, reference.name, path)


def isolated_table(results: Results, pairs: tuple[IsolatedPair, ...]) -> Table:
    """Return the difference of every pair on every metric."""
    return table("isolated", "arm reference path metric n delta low high", _rows(results, pairs))


def _rows(results: Results, pairs: tuple[IsolatedPair, ...]) -> Iterator[Row]:
    for pair in pairs:
        for metric in results.metrics:
            difference = results.difference(pair.arm, pair.reference, metric)
            yield {
                "arm": pair.arm,
                "reference": pair.reference,
                "path": pair.path,
                "metric": metric.name,
                "n": difference.pairs,
                **interval(difference),
            }

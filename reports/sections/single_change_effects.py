"""Isolated effects: pairs of arms that differ in one factor and in nothing else.

The baseline against an arm with one change is such a pair too, but the main table shows it already.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from configuration.arm import Arm
from foundation.schema import JsonValue
from reports.results import Results
from reports.sections.table import Row, Table, interval, table
from reports.statistics.levels import fields_changed
from search_space.candidate import Candidate

Changes = Mapping[str, JsonValue]


@dataclass(frozen=True)
class IsolatedPair:
    """`arm` has a change at `path` that `reference` lacks; all else is equal."""

    arm: str
    reference: str
    path: str
    """The factor as the design names it, else the field that differs: `convolution.kernel_size`."""


def isolated_pairs(arms: Sequence[Arm], baseline: Candidate) -> tuple[IsolatedPair, ...]:
    """Return every such pair in the arms' order; the reference has changes of its own, so it is not the baseline."""
    fields = {arm.name: fields_changed(arm.changes, baseline) for arm in arms}
    return tuple(_pairs(arms, fields))


def _pairs(arms: Sequence[Arm], fields: Mapping[str, Changes]) -> Iterator[IsolatedPair]:
    for arm in arms:
        for reference in arms:
            if not reference.changes:
                continue
            factors, field = _factors(arm, reference), _extra(fields[arm.name], fields[reference.name])
            whole = None if len(factors) > 1 else _extra(arm.changes, reference.changes)
            if field is not None or whole is not None:
                yield IsolatedPair(
                    arm.name, reference.name, factors[0] if len(factors) == 1 else field or whole or ""
                )


def _extra(mine: Changes, others: Changes) -> str | None:
    """Return the one path that is changed here and not there, None where more or other things differ."""
    extra = mine.keys() - others.keys()
    if len(extra) != 1 or len(mine) != len(others) + 1 or any(mine[path] != others[path] for path in others):
        return None
    return next(iter(extra))


def _factors(arm: Arm, reference: Arm) -> list[str]:
    """Return the factors of the design in which two arms differ; none where it gave them no levels."""
    if not (arm.levels and reference.levels):
        return []
    names = dict.fromkeys((*arm.levels, *reference.levels))
    return [name for name in names if arm.levels.get(name) != reference.levels.get(name)]


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

"""The paper's stated orderings of arms, each with a verdict from our paired differences.

`a > b` says that a is better, `a ~ b` that they are about equal; `a > b ~ c > d` is three orderings of neighbours.
About equal can only hold where a margin says how near is near: the interval must lie within it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from reports.effects import Difference
from reports.metrics import Metric
from reports.results import Results
from reports.table import Row, Table, interval, table
from search_space.refusals import ConfigurationRefused


class Relation(StrEnum):
    """How the paper orders two arms."""

    BETTER = ">"
    ABOUT_EQUAL = "~"


class Verdict(StrEnum):
    """What our seeds say of a stated ordering."""

    HELD = "held"
    NOT_HELD = "did not hold"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Ordering:
    """One statement on two arms."""

    first: str
    relation: Relation
    second: str

    def __str__(self) -> str:
        return f"{self.first} {self.relation} {self.second}"


def parse_orderings(texts: Iterable[str]) -> tuple[Ordering, ...]:
    """Return the orderings of neighbours in each chain. Raises ConfigurationRefused with every unreadable text."""
    found: list[Ordering] = []
    refused: list[str] = []
    for text in texts:
        words = text.split()
        names, signs = words[::2], words[1::2]
        if len(names) != len(signs) + 1 or not signs or set(signs) - set(Relation):
            refused.append(f'paper.orderings: {text!r} is not of the form "a > b" or "a ~ b"')
            continue
        found.extend(map(Ordering, names, map(Relation, signs), names[1:]))
    if refused:
        raise ConfigurationRefused(refused)
    return tuple(found)


def verdict_of(ordering: Ordering, difference: Difference, metric: Metric, margin: float | None) -> Verdict:
    """Return what a difference `first - second` says of an ordering."""
    low, high = difference.low, difference.high
    if low is None or high is None:
        return Verdict.UNDECIDED
    if ordering.relation is Relation.ABOUT_EQUAL:
        return _about_equal(low, high, margin)
    if not difference.told_apart:
        return Verdict.UNDECIDED
    return Verdict.HELD if (high < 0) is metric.lower_is_better else Verdict.NOT_HELD


def _about_equal(low: float, high: float, margin: float | None) -> Verdict:
    if margin is not None and -margin <= low and high <= margin:
        return Verdict.HELD
    beyond = margin or 0.0
    return Verdict.NOT_HELD if low > beyond or high < -beyond else Verdict.UNDECIDED


def orderings_table(results: Results) -> Table:
    """Return a verdict on every stated ordering, on held-out loss and on score."""
    return table("orderings", "ordering metric verdict n delta low high", _rows(results))


def _rows(results: Results) -> Iterator[Row]:
    paper = results.setting.paper
    if paper is None:
        return
    for ordering in parse_orderings(paper.orderings):
        for metric in results.headlines:
            difference = _difference(results, ordering, metric)
            verdict = verdict_of(ordering, difference, metric, paper.margins.get(metric.name))
            yield {
                "ordering": str(ordering),
                "metric": metric.name,
                "verdict": str(verdict),
                "n": difference.pairs,
                **interval(difference),
            }


def _difference(results: Results, ordering: Ordering, metric: Metric) -> Difference:
    """Return no difference where an arm is not (yet) in the ledger: unknown stays unknown."""
    if ordering.first not in results.values or ordering.second not in results.values:
        return Difference()
    return results.difference(ordering.first, ordering.second, metric)

"""Finding on a crossed design: main effects and interactions, Holm-corrected as a family of their own."""

from collections.abc import Iterator, Sequence

from reports.number_format import interval_text_with_n
from reports.sections.factors import TestedEffect, tested_effects
from reports.statistics.metrics import Metric
from reports.statistics.reference import is_finding
from reports.statistics.results import Results

CROSSED = 2
"""Minimum number of factors of a crossed design."""
NAMED = 2
"""Maximum number of effects named in a clause."""
KINDS = {"main": ("main effect", "main effects"), "interaction": ("interaction", "interactions")}


def crossed_clauses(results: Results, metrics: Sequence[Metric]) -> Iterator[str]:
    """Yield for each metric the statistically significant main effects and interactions; none without a test.

    A design with a single factor has no clause: its effects are differences of arms, which the finding reports.
    """
    effects = tested_effects(results)
    if len({test.effect.name.partition("=")[0] for test in effects if test.effect.kind == "main"}) < CROSSED:
        return
    tested = [test for test in effects if test.metric in metrics and test.difference.low is not None]
    tests = sum(test.p is not None for test in tested)
    for metric in metrics if tests else ():
        on_metric = [test for test in tested if test.metric == metric]
        if on_metric and not any(is_finding(results, metric, test.effect.weights) for test in on_metric):
            yield f"on {metric.title} no effect of the design is claimed, because no arm exceeds chance significantly"
        elif on_metric:
            label = f"significant after Holm's correction over {tests} test{'s' if tests > 1 else ''}"
            not_estimable = sum(bool(test.effect.reason) for test in effects if test.metric == metric)
            remainder = f" ({not_estimable} more not estimable)" if not_estimable else ""
            yield f"on {metric.title}, {label}: {_counted(on_metric)}{remainder}{_named(results, on_metric)}"


def _counted(effects: Sequence[TestedEffect]) -> str:
    parts = []
    for kind, (singular, plural) in KINDS.items():
        of_kind = [test for test in effects if test.effect.kind == kind]
        significant = sum(test.significant for test in of_kind)
        if of_kind:
            parts.append(f"{significant or 'none'} of {len(of_kind)} {singular if len(of_kind) == 1 else plural}")
    return ", ".join(parts)


def _named(results: Results, effects: Sequence[TestedEffect]) -> str:
    """Return the significant effects; without one, those whose uncorrected interval excludes 0, labelled as such."""
    significant = [test for test in effects if test.significant]
    uncorrected = [test for test in effects if test.p is not None and test.difference.significant]
    named = sorted(significant or uncorrected, key=lambda test: test.p or 0.0)
    if not named:
        return ""
    decimals = results.decimals(effects[0].metric)
    texts = ", ".join(
        f"{test.effect.title} (Δ {interval_text_with_n(test.difference, decimals)})" for test in named[:NAMED]
    )
    more = f" and {len(named) - NAMED} more" if len(named) > NAMED else ""
    return f", namely {texts}{more}" if significant else f"; significant without correction only: {texts}{more}"

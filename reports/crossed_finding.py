"""A crossed design's finding: its main effects and interactions, corrected as one family of their own."""

from collections.abc import Iterator, Sequence

from reports.number_format import interval_text_with_n
from reports.sections.factors import TestedEffect, tested_effects
from reports.statistics.metrics import Metric
from reports.statistics.reference import is_finding
from reports.statistics.results import Results

CROSSED = 2
"""Factors from which a design is crossed."""
NAMED = 2
"""As many effects as a clause can name."""
KINDS = {"main": ("main effect", "main effects"), "interaction": ("interaction", "interactions")}


def crossed_clauses(results: Results, metrics: Sequence[Metric]) -> Iterator[str]:
    """Yield for each metric which main effects and interactions differ from 0; nothing where none has a test.

    Nor where one factor alone varies: its effects are differences of arms, which the finding has anyway.
    """
    effects = tested_effects(results)
    if len({one.effect.name.partition("=")[0] for one in effects if one.effect.kind == "main"}) < CROSSED:
        return
    tested = [one for one in effects if one.metric in metrics and one.difference.low is not None]
    tests = sum(one.p is not None for one in tested)
    for metric in metrics if tests else ():
        on_metric = [one for one in tested if one.metric == metric]
        if on_metric and not any(is_finding(results, metric, one.effect.weights) for one in on_metric):
            yield f"on {metric.title} no effect of the design is claimed, as no arm exceeds chance significantly"
        elif on_metric:
            corrected = f"significant by Holm over {tests} test{'s' if tests > 1 else ''}"
            lost = sum(bool(one.effect.reason) for one in effects if one.metric == metric)
            rest = f" ({lost} more not estimable)" if lost else ""
            yield f"on {metric.title}, {corrected}: {_counted(on_metric)}{rest}{_named(results, on_metric)}"


def _counted(effects: Sequence[TestedEffect]) -> str:
    parts = []
    for kind, (singular, plural) in KINDS.items():
        known = [each for each in effects if each.effect.kind == kind]
        significant = sum(each.significant for each in known)
        if known:
            parts.append(f"{significant or 'none'} of {len(known)} {singular if len(known) == 1 else plural}")
    return ", ".join(parts)


def _named(results: Results, effects: Sequence[TestedEffect]) -> str:
    """Return the significant effects; where there are none, those whose own interval excludes 0, as uncorrected."""
    significant = [each for each in effects if each.significant]
    alone = [each for each in effects if each.p is not None and each.difference.told_apart]
    found = sorted(significant or alone, key=lambda one: one.p or 0.0)
    if not found:
        return ""
    decimals = results.decimals(effects[0].metric)
    shown = ", ".join(
        f"{one.effect.title} (Δ {interval_text_with_n(one.difference, decimals)})" for one in found[:NAMED]
    )
    more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
    return f", namely {shown}{more}" if significant else f"; 0 is excluded without correction by {shown}{more}"

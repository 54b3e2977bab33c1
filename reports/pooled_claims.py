"""Claims that were tested at several scales: their differences pooled by random effects."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from analysis.difference import Difference
from analysis.random_effects import PooledEffect, pooled_effect
from reports.claim_row import ClaimRow
from reports.formats.markdown import escape, table_lines
from reports.number_format import difference_text, fixed, p_text

HEADINGS = ("claim", "metric", "test", "scales", "pooled Δ [95%]", "p", "sd between scales")
ALIGNMENTS = ("---", "---", "---", "---", "---", "--:", "--:")
NOTE = (
    "Pooled: the mean difference over scales like these, each scale's true difference normal around it (random "
    "effects; variance between scales by DerSimonian and Laird, interval by Hartung and Knapp with one degree of "
    "freedom less than scales). Pointwise, beside the verdicts of the single scales, which it does not replace."
)


@dataclass(frozen=True)
class PooledClaim:
    """One claim with its difference over all scales at which it was tested."""

    tests: tuple[ClaimRow, ...]
    effect: PooledEffect


def pooled_claims(tests: Iterable[ClaimRow]) -> Iterator[PooledClaim]:
    """Yield the claims with a standard error at two scales or more, in their order."""
    groups: dict[tuple[str, str, str, str], list[ClaimRow]] = {}
    for test in tests:
        if test.estimate is not None and test.estimate.standard_error.item() > 0:
            groups.setdefault((test.claim, test.experiment.split(" ")[0], test.metric, test.test), []).append(test)
    for group in groups.values():
        estimates = [test.estimate for test in group if test.estimate is not None]
        effect = pooled_effect(
            [each.value.item() for each in estimates], [each.standard_error.item() for each in estimates]
        )
        if effect is not None:
            yield PooledClaim(tuple(group), effect)


def pooled_markdown(claims: Iterable[PooledClaim]) -> str:
    """Return the pooled claims as a table with its note; empty without any."""
    rows = [_cells(claim) for claim in claims]
    return "\n\n".join(("\n".join(table_lines([HEADINGS, ALIGNMENTS, *rows])), NOTE)) if rows else ""


def _cells(claim: PooledClaim) -> tuple[str, ...]:
    first, effect = claim.tests[0], claim.effect
    decimals = max(test.decimals for test in claim.tests)
    difference = difference_text(Difference(effect.scales, effect.value, effect.low, effect.high), decimals)
    scales = ", ".join(test.experiment for test in claim.tests)
    texts = (scales, difference, p_text(effect.p), fixed(effect.between, decimals))
    return (first.claim, escape(first.metric), first.test, *map(escape, texts))

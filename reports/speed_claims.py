"""Tests of claims of papers on speed: the orderings of `measure.latency`, at all timed lengths."""

from collections.abc import Iterable, Iterator

from reports.claim_row import ClaimRow
from reports.number_format import fixed
from reports.statistics.latency import OPERATIONS, StatementVerdict, latencies_of, statement_verdicts
from reports.statistics.results import Results


def claimed_speeds(results: Results, texts: Iterable[str]) -> Iterator[ClaimRow]:
    """Yield the tests of a paper's orderings: each at all lengths, on FLOPs and on time."""
    evidence = results.once(latencies_of)
    assert evidence is not None
    width = evidence.architectures[evidence.timing.baseline].width
    scope = f"{evidence.timing.part} alone, width {width}, on {evidence.timing.device}"
    found = list(statement_verdicts(evidence))
    for text in texts:
        for measure in dict.fromkeys(each.measure for each in found):
            tested = [each for each in found if (each.statement, each.measure) == (text, measure)]
            if tested:
                yield _claim_row(text, measure, tested, scope)


def _claim_row(text: str, measure: str, tested: list[StatementVerdict], scope: str) -> ClaimRow:
    verdicts = [str(each.verdict) for each in tested]
    counts = {verdict: verdicts.count(verdict) for verdict in dict.fromkeys(verdicts)}
    ratios = sorted(each.ratio.value for each in tested)
    rounds = [] if measure == OPERATIONS else [each.ratio.n for each in tested]
    return ClaimRow(
        claim="",
        experiment="",
        metric=measure,
        test=f"`{text}`",
        verdict=", ".join(f"{verdict} at {count} of {len(tested)} lengths" for verdict, count in counts.items()),
        scope=scope,
        n=min(rounds, default=None),
        replicates="rounds" if rounds else "",
        difference=f"{fixed(ratios[0], 3)}x to {fixed(ratios[-1], 3)}x",
    )

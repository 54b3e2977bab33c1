"""The finding on speed: computed from the times and never typed."""

from collections.abc import Iterator

from analysis.bootstrap import Estimate
from reports.number_format import UNKNOWN, decimals_for, fixed
from reports.timing.analysis import Analysis, Timed

FLOPS_DECIMALS = 3
SAYS = {1: "faster", -1: "slower", 0: "no significant difference"}


def finding_of(analysis: Analysis) -> str:
    """Return how fast the arms in question are beside the baseline, from the longest input to the shortest."""
    lengths, wanted = analysis.lengths, analysis.experiment.timing.lengths
    if not lengths:
        return f"No result yet: none of {len(wanted)} lengths has been timed."
    text = " ".join(sentence for arm in _in_question(analysis) for sentence in _sentences(analysis, arm))
    return (
        text if len(lengths) == len(wanted) else f"So far, with {len(lengths)} of {len(wanted)} lengths timed: {text}"
    )


def speedup_text(analysis: Analysis, timed: Timed, joined: str = "") -> str:
    """Return `1.18x [1.15, 1.21]` with the digits that the spreads support; `joined` goes before the interval."""
    decimals = speedup_decimals(analysis)
    return f"{fixed(timed.speedup.value, decimals)}x{joined} {interval_text(timed.speedup, decimals)}"


def speedup_decimals(analysis: Analysis) -> int:
    """Return 2, or 3 where the intervals are narrow enough."""
    rivals = [timed.speedup for timed in analysis.timed if timed.arm != analysis.experiment.baseline]
    halves = [(each.high - each.low) / 2 for each in rivals if each.low is not None and each.high is not None]
    return min(3, max(2, decimals_for(halves, 2)))


def interval_text(estimate: Estimate, decimals: int) -> str:
    """Return `[1.15, 1.21]`; a single round tells no interval."""
    if estimate.low is None or estimate.high is None:
        return f"[{UNKNOWN}]"
    return f"[{fixed(estimate.low, decimals)}, {fixed(estimate.high, decimals)}]"


def _in_question(analysis: Analysis) -> tuple[str, ...]:
    """Return the arms that the paper speaks of, or all of them, the baseline never."""
    paper, rivals = analysis.experiment.paper, analysis.arms[1:]
    named = {name for ordering in paper.orderings for name in ordering.split(" > ")} if paper else set()
    return tuple(arm for arm in rivals if arm in named) or rivals


def _sentences(analysis: Analysis, arm: str) -> Iterator[str]:
    baseline, timed = analysis.experiment.baseline, analysis.of_arm(arm)
    longest, shortest = timed[-1], timed[0]
    first = speedup_text(analysis, longest, f" as fast as {baseline}")
    told = f"At n = {longest.length} {arm} is {first} with {_flops(longest)} of its FLOPs"
    if shortest is not longest:
        told += f", at n = {shortest.length} {speedup_text(analysis, shortest)} with {_flops(shortest)}"
    yield f"{told} ({longest.speedup.n} paired rounds per length)."
    yield f"{_where(analysis, timed).capitalize()}."


def _where(analysis: Analysis, timed: tuple[Timed, ...]) -> str:
    """Return at which lengths the intervals say what."""
    found = {sign: [str(each.length) for each in timed if analysis.told(each.speedup) == sign] for sign in SAYS}
    return "; ".join(f"{SAYS[sign]} at n = {', '.join(lengths)}" for sign, lengths in found.items() if lengths)


def _flops(timed: Timed) -> str:
    return fixed(timed.flops_ratio, FLOPS_DECIMALS)

"""The finding on latency and the conditions of the times: computed from them and never typed."""

from collections.abc import Iterator

from reports.number_format import fixed
from reports.sections.latency import FLOPS_DECIMALS, speedup_text
from reports.statistics.latency import ArmLatency, LatencyResults

PARTS = {
    "attention": "the attention sublayer with its maps, without feed-forward network and normalisation",
    "block": "a whole block: attention, feed-forward network, both normalisations",
}
SAYS = {1: "faster", -1: "slower", 0: "no significant difference"}


def latency_finding(results: LatencyResults) -> str:
    """Return how fast the arms in question are beside the baseline, from the longest input to the shortest."""
    lengths, wanted = results.lengths, results.experiment.timing.lengths
    if not lengths:
        return f"No result yet: none of {len(wanted)} lengths has been timed."
    text = " ".join(sentence for arm in _in_question(results) for sentence in _sentences(results, arm))
    return (
        text if len(lengths) == len(wanted) else f"So far, with {len(lengths)} of {len(wanted)} lengths timed: {text}"
    )


def _in_question(results: LatencyResults) -> tuple[str, ...]:
    """Return the arms that the paper speaks of, or all of them, the baseline never."""
    paper, rivals = results.experiment.paper, results.arms[1:]
    named = {name for ordering in paper.orderings for name in ordering.split(" > ")} if paper else set()
    return tuple(arm for arm in rivals if arm in named) or rivals


def _sentences(results: LatencyResults, arm: str) -> Iterator[str]:
    baseline, timed = results.experiment.baseline, results.of_arm(arm)
    longest, shortest = timed[-1], timed[0]
    first = speedup_text(results, longest, f" as fast as {baseline}")
    sentence = f"At n = {longest.length} {arm} is {first} with {_flops(longest)} of its FLOPs"
    if shortest is not longest:
        sentence += f", at n = {shortest.length} {speedup_text(results, shortest)} with {_flops(shortest)}"
    yield f"{sentence} ({longest.speedup.n} paired rounds per length)."
    yield f"{_where(results, timed).capitalize()}."


def _where(results: LatencyResults, timed: tuple[ArmLatency, ...]) -> str:
    """Return at which lengths the intervals say what."""
    found = {
        sign: [str(each.length) for each in timed if results.significance(each.speedup) == sign] for sign in SAYS
    }
    return "; ".join(f"{SAYS[sign]} at n = {', '.join(lengths)}" for sign, lengths in found.items() if lengths)


def _flops(timed: ArmLatency) -> str:
    return fixed(timed.flops_ratio, FLOPS_DECIMALS)


def latency_conditions(results: LatencyResults) -> Iterator[tuple[str, str]]:
    """Yield under which conditions the times were taken: terms, each with its text."""
    timing, machine = results.experiment.timing, results.machine
    yield "Timed", PARTS[timing.part]
    yield "Sizes", _sizes(results)
    longest = max(timing.lengths)
    yield "Inputs", f"{timing.batch_sequences} per pass, random, of up to {longest} tokens, none of them padding"
    yield "Rounds", f"{timing.rounds} after {timing.warm_up_rounds} for warming up; arms in random order in each"
    if machine is None:
        return
    yield "Clock", f"{machine.clock}, {machine.threads} thread"
    yield (
        "Arithmetic",
        f"{timing.precision}, PyTorch {machine.torch}, {machine.instructions}; {machine.operators}",
    )
    yield "Machine", f"{machine.processor}, {machine.system}, device {machine.device}, Python {machine.python}"
    yield "Code", f"models, sha256 {machine.code}"


def _sizes(results: LatencyResults) -> str:
    architecture = results.experiment.architecture_of(results.experiment.baseline)
    sizes = f"width {architecture.width}, {architecture.heads} heads"
    block = results.experiment.timing.part == "block"
    return f"{sizes}, feed-forward width {architecture.feed_forward_width}" if block else sizes

"""The finding of a latency experiment, computed from the times, and the conditions of the measurement."""

from collections.abc import Iterator

from reports.number_format import counted, fixed
from reports.sections.latency import FLOPS_DECIMALS, speedup_text
from reports.statistics.latency import ArmLatency, LatencyEvidence

PARTS = {
    "attention": "the attention sublayer with its maps, without feed-forward network and normalisation",
    "block": "a whole block: attention, feed-forward network, both normalisations",
}
SAYS = {1: "faster", -1: "slower", 0: "no significant difference"}


def latency_finding(evidence: LatencyEvidence) -> str:
    """Return the speedups over the baseline on the longest and the shortest input."""
    lengths, planned = evidence.lengths, evidence.experiment.timing.lengths
    if not lengths:
        return f"No result yet: none of {len(planned)} lengths has been timed."
    text = " ".join(sentence for arm in _in_question(evidence) for sentence in _sentences(evidence, arm))
    return (
        text
        if len(lengths) == len(planned)
        else f"So far, with {len(lengths)} of {len(planned)} lengths timed: {text}"
    )


def _in_question(evidence: LatencyEvidence) -> tuple[str, ...]:
    """Return the arms in the paper's orderings, or all arms, without the baseline."""
    paper, rivals = evidence.experiment.paper, evidence.arms[1:]
    named = {name for ordering in paper.orderings for name in ordering.split(" > ")} if paper else set()
    return tuple(arm for arm in rivals if arm in named) or rivals


def _sentences(evidence: LatencyEvidence, arm: str) -> Iterator[str]:
    baseline, timed = evidence.experiment.baseline, evidence.of_arm(arm)
    longest, shortest = timed[-1], timed[0]
    speedup = speedup_text(evidence, longest, f" as fast as {baseline}")
    sentence = f"At n = {longest.length} {arm} is {speedup} with {_flops(longest)} of its FLOPs"
    if shortest is not longest:
        sentence += f", at n = {shortest.length} {speedup_text(evidence, shortest)} with {_flops(shortest)}"
    yield f"{sentence} ({counted(longest.speedup.n, 'paired round')} per length)."
    yield f"{_where(evidence, timed).capitalize()}."


def _where(evidence: LatencyEvidence, timed: tuple[ArmLatency, ...]) -> str:
    """Return the lengths at which the arm is faster, slower, or not significantly different."""
    by_sign = {
        sign: [str(timed_arm.length) for timed_arm in timed if evidence.significance(timed_arm.speedup) == sign]
        for sign in SAYS
    }
    return "; ".join(f"{SAYS[sign]} at n = {', '.join(lengths)}" for sign, lengths in by_sign.items() if lengths)


def _flops(timed: ArmLatency) -> str:
    return fixed(timed.flops_ratio, FLOPS_DECIMALS)


def latency_conditions(evidence: LatencyEvidence) -> Iterator[tuple[str, str]]:
    """Yield the conditions of the measurement as pairs of a term and its text."""
    timing, machine = evidence.experiment.timing, evidence.machine
    yield "Timed", PARTS[timing.part]
    yield "Sizes", _sizes(evidence)
    longest = max(timing.lengths)
    yield "Inputs", f"{timing.batch_sequences} per pass, random tokens without padding, up to {longest} tokens long"
    yield (
        "Rounds",
        f"{timing.rounds} after {timing.warm_up_rounds} warm-up rounds; arms in random order in each round",
    )
    if machine is None:
        return
    yield "Clock", f"{machine.clock}, {counted(machine.threads, 'thread')}"
    yield (
        "Arithmetic",
        f"{timing.precision}, PyTorch {machine.torch}, {machine.instructions}; {machine.operators}",
    )
    yield "Machine", f"{machine.processor}, {machine.system}, device {machine.device}, Python {machine.python}"
    yield "Code", f"models, sha256 {machine.code}"


def _sizes(evidence: LatencyEvidence) -> str:
    architecture = evidence.experiment.architecture_of(evidence.experiment.baseline)
    sizes = f"width {architecture.width}, {architecture.heads} heads"
    block = evidence.experiment.timing.part == "block"
    return f"{sizes}, feed-forward width {architecture.feed_forward_width}" if block else sizes

"""What the tests of timing share: a small experiment and records whose seconds were put there by hand."""

from collections.abc import Mapping

from configuration.timing.experiment import TimingExperiment
from ledger.timing.record import Machine, Measured, TimingRecord

MACHINE = Machine(
    processor="a processor",
    system="Linux x86_64",
    instructions="AVX2",
    device="cpu",
    threads=1,
    clock="CPU time of the process",
    python="3.11.7",
    torch="2.13.0",
    operators="portable",
    code="0123456789ab",
)
ARMS = {"attention": {}, "mixed": {"bottleneck_ratio": 2, "convolution": "span_dynamic"}}

Seconds = Mapping[int, Mapping[str, tuple[float, ...]]]


def experiment(arms: object = None, **timing: object) -> TimingExperiment:
    """Return a tiny experiment of two arms, two lengths and three rounds, unless told otherwise."""
    sizes = {"lengths": (8, 16), "rounds": 3, "warm_up_rounds": 1, **timing}
    document = {
        "experiment": "speed",
        "question": "Which is faster?",
        "paper": {
            "source": "a paper",
            "statement": "Mixed is faster.",
            "orderings": ("mixed > attention",),
            "widening": ("mixed",),
        },
        "architecture": {"width": 16, "embedding_width": 16, "heads": 2, "feed_forward_width": 32},
        "arms": ARMS if arms is None else arms,
        "baseline": "attention",
        "timing": sizes,
    }
    return TimingExperiment.model_validate(document)


def record(seconds: Seconds, asked: TimingExperiment | None = None) -> TimingRecord:
    """Return a record that holds these seconds by length and arm."""
    measured = tuple(Measured(length=length, seconds=by_arm) for length, by_arm in seconds.items())
    return TimingRecord(experiment=asked or experiment(), scale="smoke", machine=MACHINE, measured=measured)

"""What the tests of latencies share: a small experiment, and snapshots whose seconds were put there by hand."""

from collections.abc import Mapping

from steeplechase.configuration.latency import LatencyExperiment
from steeplechase.configuration.stage_label import LATENCY, StageLabel
from steeplechase.ledger.records import Record, Status
from steeplechase.ledger.snapshot import Snapshot
from steeplechase.ledger.stage_results import LatencyResult, Machine
from tests.factories.keys import KEY

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


def experiment(arms: object = None, **timing: object) -> LatencyExperiment:
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
    return LatencyExperiment.model_validate(document)


def snapshot_of(seconds: Seconds, asked: LatencyExperiment | None = None) -> Snapshot:
    """Return a snapshot that holds these seconds by length and arm."""
    declared = asked or experiment()
    arms = tuple(arm.name for arm in declared.candidates)
    shared = tuple(_record(length, arms, by_arm) for length, by_arm in seconds.items())
    return Snapshot("speed", "smoke", declared.model_dump(mode="json"), (), (), (), shared)


def _record(length: int, arms: tuple[str, ...], seconds: Mapping[str, tuple[float, ...]]) -> Record:
    result = LatencyResult(length=length, arms=arms, seconds=seconds, machine=MACHINE)
    label = str(StageLabel(LATENCY, length=length))
    return Record(length, None, LATENCY, label, KEY, Status.FINISHED, result, 1.0, False)

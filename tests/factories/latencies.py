"""What the tests of latencies share: a small experiment, and snapshots whose seconds were put there by hand."""

from collections.abc import Mapping

from reports.statistics.latency import LatencyEvidence, latencies_of
from reports.statistics.reading import results_of
from search_space.architecture import Architecture
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.measurements.latency import LatencyResult, Machine
from steeplechase.configuration.stage_label import StageLabel
from steeplechase.ledger.records import Record, Status
from steeplechase.ledger.snapshot import Snapshot
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


def experiment(arms: Mapping[str, object] | None = None, **timing: object) -> Experiment:
    """Return a tiny experiment of two arms, two lengths and three rounds, unless told otherwise.

    `arms` are the timed ones; one named `control` is a copy of the baseline, `attention`.
    """
    timed = ARMS if arms is None else arms
    latency = {
        "lengths": (8, 16),
        "rounds": 3,
        "warm_up_rounds": 1,
        "baseline": "attention",
        "control": "control" if "control" in timed else None,
        "faster": ("mixed > attention",) if "mixed" in timed else (),
        "widening": ("mixed",) if "mixed" in timed else (),
        **timing,
    }
    changed = {name: changes for name, changes in timed.items() if name not in ("attention", "control")}
    sizes = {"width": 16, "embedding_width": 16, "heads": 2, "feed_forward_width": 32}
    document = {
        "experiment": "speed",
        "question": "Which is faster?",
        "paper": {"source": "a paper", "statement": "Mixed is faster."},
        "baseline": {"architecture": sizes},
        "design": {"kind": "list", "arms": changed},
        "measure": {"latency": latency},
    }
    return Experiment.model_validate(document)


def architecture_of(asked: Experiment, arm: str) -> Architecture:
    """Return what is timed of an arm."""
    assert asked.measure.latency is not None
    return asked.measure.latency.timed({each.name: each.candidate for each in asked.arms})[arm]


def latencies_in(snapshot: Snapshot) -> LatencyEvidence:
    """Return the latencies of a snapshot."""
    found = latencies_of(results_of(snapshot))
    assert found is not None
    return found


def snapshot_of(seconds: Seconds, asked: Experiment | None = None) -> Snapshot:
    """Return a snapshot that holds these seconds by length and arm."""
    declared = asked or experiment()
    assert declared.measure.latency is not None
    arms = tuple(declared.measure.latency.timed({arm.name: arm.candidate for arm in declared.arms}))
    shared = tuple(_record(length, arms, by_arm) for length, by_arm in seconds.items())
    return Snapshot("speed", "smoke", declared.model_dump(mode="json"), (), (), (), shared)


def _record(length: int, arms: tuple[str, ...], seconds: Mapping[str, tuple[float, ...]]) -> Record:
    result = LatencyResult(length=length, arms=arms, seconds=seconds, machine=MACHINE)
    label = str(StageLabel("latency", length=length))
    return Record(length, None, "latency", label, KEY, Status.FINISHED, result, 1.0, False)

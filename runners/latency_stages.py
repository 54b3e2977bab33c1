"""From a latency experiment to its stages: one per length, so that a run that is killed loses at most one length."""

from configuration.latency import LatencyExperiment
from foundation.differences import differences
from foundation.errors import ConflictError
from ledger.database import Ledger
from ledger.latency import LATENCY, Machine, latencies_of
from runners.stages.declarations import LatencyStage
from runners.stages.stage import Stage


def latency_stages(experiment: LatencyExperiment, machine: Machine) -> dict[str, Stage]:
    """Return the stages by label, in the order of the lengths; no trial owns them."""
    timing = experiment.timing
    arms = {arm.name: arm.candidate.architecture for arm in experiment.candidates}
    return {
        f"{LATENCY} n = {length}": Stage(
            LatencyStage(
                arms=arms,
                part=timing.part,
                length=length,
                batch_sequences=timing.batch_sequences,
                rounds=timing.rounds,
                warm_up_rounds=timing.warm_up_rounds,
                seed=timing.seed,
                device=timing.device,
                precision=timing.precision,
                machine=machine,
            )
        )
        for length in timing.lengths
    }


def refuse_another_machine(ledger: Ledger, machine: Machine) -> None:
    """Raise ConflictError, which says what differs, where the ledger's times were taken on another machine."""
    wanted = machine.model_dump()
    for known in latencies_of(ledger.records()):
        differing = [*differences(known.machine.model_dump(), wanted, "machine")]
        if differing:
            first = f"{ledger.path}: holds times of another machine; nothing was changed. What differs:"
            remedy = "Did you mean another --out folder?"
            raise ConflictError([first, *(f"  {line}" for line in differing), remedy])

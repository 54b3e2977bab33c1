"""From a latency experiment to its stages: one per length, so that a run that is killed loses at most one length."""

from collections.abc import Mapping
from dataclasses import dataclass

from configuration.latency import LatencyExperiment
from configuration.stage_label import LATENCY, StageLabel
from foundation.errors import ConflictError
from ledger.database import Ledger
from ledger.records import with_results
from ledger.stage_results import LatencyResult, Machine
from runners.differences import differences
from runners.stages.declarations import LatencyStage
from runners.stages.stage import Stage


@dataclass(frozen=True)
class LatencyStages:
    """All stages of a latency experiment on one machine; they belong to no trial, and no trial follows them."""

    machine: Machine
    by_length: Mapping[int, Stage]

    def named(self) -> dict[str, Stage]:
        """Return every stage by its label, in the order of the lengths."""
        return {str(StageLabel(LATENCY, length=length)): stage for length, stage in self.by_length.items()}


def latency_stages(experiment: LatencyExperiment, machine: Machine) -> LatencyStages:
    """Return the stages of an experiment on a machine."""
    timing = experiment.timing
    arms = {arm.name: arm.candidate.architecture for arm in experiment.candidates}

    def timed(length: int) -> Stage:
        return Stage(
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

    return LatencyStages(machine, {length: timed(length) for length in timing.lengths})


def refuse_another_machine(ledger: Ledger, machine: Machine) -> None:
    """Raise ConflictError, which says what differs, where the ledger's times were taken on another machine."""
    wanted = machine.model_dump()
    for _, known in with_results(ledger.records(), LatencyResult):
        differing = [*differences(known.machine.model_dump(), wanted, "machine")]
        if differing:
            first = f"{ledger.path}: holds times of another machine; nothing was changed. What differs:"
            remedy = "Did you mean another --out folder?"
            raise ConflictError([first, *(f"  {line}" for line in differing), remedy])

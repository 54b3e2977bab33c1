"""The stages of a latency experiment: one per length, so that a killed run loses at most one length."""

from collections.abc import Mapping
from dataclasses import dataclass

from runners.differences import differences
from runners.stages.measurement_declarations import LatencyStage
from runners.stages.stage import Stage
from steeplechase.configuration.latency import LatencyExperiment
from steeplechase.configuration.stage_label import LATENCY, StageLabel
from steeplechase.foundation.errors import ConflictError
from steeplechase.ledger.database import Ledger
from steeplechase.ledger.records import with_results
from steeplechase.ledger.stage_results import LatencyResult, Machine


@dataclass(frozen=True)
class LatencyStages:
    """All stages of a latency experiment on one machine; there are no trials."""

    machine: Machine
    by_length: Mapping[int, Stage]

    def named(self) -> dict[str, Stage]:
        """Return every stage by label, in the order of the lengths."""
        return {str(StageLabel(LATENCY, length=length)): stage for length, stage in self.by_length.items()}


def latency_stages(experiment: LatencyExperiment, machine: Machine) -> LatencyStages:
    """Return the stages of an experiment on a machine."""
    timing = experiment.timing
    arms = {arm.name: arm.candidate.architecture for arm in experiment.candidates}

    def stage_at(length: int) -> Stage:
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

    return LatencyStages(machine, {length: stage_at(length) for length in timing.lengths})


def refuse_another_machine(ledger: Ledger, machine: Machine) -> None:
    """Raise ConflictError, with the differences, if the ledger's times are from another machine."""
    current = machine.model_dump()
    for _, recorded in with_results(ledger.records(), LatencyResult):
        differing = [*differences(recorded.machine.model_dump(), current, "machine")]
        if differing:
            first = f"{ledger.path}: holds times of another machine; nothing was changed. What differs:"
            remedy = "Did you mean another --out folder?"
            raise ConflictError([first, *(f"  {line}" for line in differing), remedy])

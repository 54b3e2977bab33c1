"""What an arm costs: as declared, or of a pruned arm what its trials have after pruning, the recovery included."""

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import fmean

from reports.statistics.results import Results
from search_space.architecture import Architecture
from steeplechase.configuration.stage_label import PRETRAIN, UNPRUNED
from steeplechase.foundation.canonical import canonical_text
from steeplechase.ledger.records import ArmRow, with_results
from steeplechase.ledger.stage_results import PretrainResult
from steeplechase.ledger.trial_history import TrialHistory

COSTS = ("parameters", "forward_flops", "train_flops")
COST_TITLES = {
    "parameters": "parameters",
    "forward_flops": "forward FLOPs",
    "train_flops": "train FLOPs",
    "seconds": "seconds",
}


@dataclass(frozen=True)
class ArmCosts:
    """Parameters, FLOPs of one forward pass over a sequence, and FLOPs of pretraining."""

    parameters: int
    forward_flops: int
    train_flops: int


def costs_of(results: Results, arm: ArmRow) -> ArmCosts:
    """Return an arm's costs; of a pruned arm the means over its finished trials, before these what is declared."""
    measured = [each for history in results.trials[arm.name] for each in pruned_costs(results, arm, history)]
    if not measured:
        return ArmCosts(arm.parameters, arm.forward_flops, arm.train_flops)
    return ArmCosts(*(round(fmean(getattr(each, name) for each in measured)) for name in COSTS))


def pruned_costs(results: Results, arm: ArmRow, history: TrialHistory) -> Iterator[ArmCosts]:
    """Yield the costs of a trial after pruning; nothing of a trial that is not pruned, or not yet."""
    experiment, recipe = results.experiment, arm.candidate.recipe
    for architecture in remaining_architectures(history):
        yield ArmCosts(
            architecture.parameters,
            architecture.forward_flops(recipe.sequence_length),
            arm.candidate.train_flops(experiment.pretraining.tokens, experiment.baseline.architecture)
            + arm.candidate.pruning_flops(experiment.pretraining.tokens, architecture),
        )


def remaining_architectures(history: TrialHistory) -> Iterator[Architecture]:
    """Yield the architecture that pruning left in a trial."""
    for _, result in with_results(history.finished(PRETRAIN), PretrainResult):
        if result.architecture is not None:
            yield Architecture.model_validate_json(canonical_text(dict(result.architecture)))


def price_of(results: Results, arm: ArmRow, cost: str) -> float:
    """Return an arm's cost; seconds are the mean pretraining time of its trials."""
    if cost in COSTS:
        return float(getattr(costs_of(results, arm), cost))
    phases = [(h.finished(UNPRUNED), h.finished(PRETRAIN)) for h in results.trials[arm.name]]
    return fmean(sum(record.total_seconds for phase in of_trial for record in phase) for of_trial in phases)

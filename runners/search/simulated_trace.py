"""The trace of a search that is simulated on a tabulated space."""

from runners.search.encoding import identity
from runners.search.simulated import simulated
from runners.search.tabulated import Table
from steeplechase.analysis.search_trace import SearchTrace, Training
from steeplechase.configuration.experiment import Experiment


def simulated_trace(experiment: Experiment, table: Table) -> SearchTrace:
    """Return the trace of a search at the seed of its design. Raises as `simulated` does."""
    found = simulated(experiment, table)
    assert experiment.search is not None
    length, finals = experiment.baseline.recipe.sequence_length, dict[str, float]()
    trainings = []
    for training in found.trainings:
        name = identity(training.arm.candidate)
        finals[name] = training.final_loss
        trainings.append(
            Training(
                candidate=name,
                spent=training.spent,
                loss=min(training.losses),
                finished=training.finished,
                forward_flops=float(training.arm.candidate.architecture.forward_flops(length)),
            )
        )
    trace = SearchTrace(experiment.search.seed, tuple(trainings), None, found.duplicates)
    return trace.choosing(finals)

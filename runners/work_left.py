"""What a run has yet to compute: trials, tuning before them and a final comparison after them, with its costs."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from runners.cost_estimate.past_runs import measured_under
from runners.cost_estimate.prediction import Prediction, predicted
from runners.dag import SharedStages
from runners.part import Part
from runners.plan_notes import final_stages
from runners.plan_tuning import TuningCost, plan_tuning_of
from runners.remaining import Remaining, missing_of, remaining_of
from search_space.cost import MATMUL, Convention
from steeplechase.configuration.experiment import Experiment
from steeplechase.ledger.artifacts import ArtifactStore
from steeplechase.ledger.paths import ResultPaths


@dataclass(frozen=True)
class WorkLeft:
    """The stages of a run without results, and what they are predicted to cost."""

    known: Remaining
    """Outside trials, and of the trials of the known arms."""
    tuning: TuningCost | None
    stages: int
    """All of them, of tuning and of a search's final comparison as many as there can be."""
    prediction: Prediction

    def seconds(self, workers: int) -> tuple[float, bool] | None:
        """Return the predicted duration, and whether it is an upper bound alone; None if unknown."""
        whole, start = self.prediction.seconds, self.prediction.start_seconds or 0.0
        if not self.stages:
            return 0.0, False
        if whole is None or self.prediction.never_measured:
            return None
        bounded = whole.is_wide and whole.high is not None
        longest = whole.high if whole.is_wide and whole.high is not None else whole.middle
        return longest / min(workers, self.stages) + start, bounded


def work_left(
    experiment: Experiment,
    shared: SharedStages,
    part: Part,
    places: ResultPaths,
    store: ArtifactStore,
    reused: Iterable[Path] = (),
    convention: Convention = MATMUL,
) -> WorkLeft:
    """Return what a part of an experiment has to compute, given the folders whose trials it takes over.

    Raises MachineError if one of these has no rows, CorruptionError if a ledger under the results is damaged.
    """
    known = remaining_of(experiment, shared, part, places, store, reused)
    tuning = plan_tuning_of(experiment, shared, convention, partial(missing_of, store), places.folder)
    stages = known.stages(experiment) + missing_of(store, final_stages(experiment, shared))
    stages += () if tuning is None else tuning.remaining
    return WorkLeft(known, tuning, len(stages), predicted(stages, measured_under(places.root, store)))

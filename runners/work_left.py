"""What a run has to compute before it begins: stages without results, and what they are predicted to cost."""

from dataclasses import dataclass

from runners.cost_estimate.past_runs import measured_under
from runners.cost_estimate.prediction import Prediction, predicted
from runners.dag import SharedStages
from runners.part import Part
from runners.plan import candidates_like, missing_of, stages_of_arm
from steeplechase.configuration.experiment import Experiment
from steeplechase.foundation.errors import UserError
from steeplechase.ledger.paths import ResultPaths


@dataclass(frozen=True)
class WorkLeft:
    """The stages of a run without results, and what they are predicted to cost."""

    stages: int
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


def work_left(experiment: Experiment, shared: SharedStages, places: ResultPaths, part: Part) -> WorkLeft | None:
    """Return what a run has to compute; None where a ledger beside the results is damaged."""
    try:
        store = places.store()
        remaining = missing_of(store, shared.named().values())
        for arm in experiment.arms:
            missing = missing_of(store, stages_of_arm(experiment, shared, arm, part))
            remaining += missing * candidates_like(experiment, arm)
        return WorkLeft(len(remaining), predicted(remaining, measured_under(places.root, store)))
    except UserError:
        return None

"""The first line of `run`: experiment, scale, number of trials, and an estimate of the time."""

from runners.cost_estimate.past_runs import measured_under
from runners.cost_estimate.prediction import predicted
from runners.dag import shared_stages
from runners.opening import RunRequest
from steeplechase.commands.planning.plan_contents import candidates_like, is_cached, stages_of_arm
from steeplechase.commands.planning.plan_view import duration
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.latency import LatencyExperiment
from steeplechase.configuration.seeds import first_seeds
from steeplechase.foundation.errors import UserError
from steeplechase.ledger.records import WITHOUT_SCALES


def opening_line(request: RunRequest, is_default: bool) -> str:
    """Return the line; `is_default` is whether nobody chose the scale. Raises DataError where data are missing."""
    experiment = request.experiment
    default = " (the default)" if is_default else ""
    name = experiment.experiment + ("" if request.scale == WITHOUT_SCALES else f" at scale {request.scale}{default}")
    if isinstance(experiment, LatencyExperiment):
        return f"{name}: {len(experiment.candidates)} arms, timed at {len(experiment.timing.lengths)} lengths"
    return f"{name}: {_trials(experiment, request)}, {_time(experiment, request)}"


def _trials(experiment: Experiment, request: RunRequest) -> str:
    seeds = first_seeds(experiment.pretraining.seeds)
    count = sum(request.part.has_trial(arm.name, seed) for arm in experiment.arms for seed in seeds)
    if experiment.search is not None:
        count = max(count, experiment.search.max_candidates * len(seeds))
        return f"at most {count} trials"
    return f"{count} trial{'' if count == 1 else 's'}"


def _time(experiment: Experiment, request: RunRequest) -> str:
    """Return the estimate of what is not in the store; a ledger beside it that is damaged leaves it open.

    Raises DataError or MachineError where the data are missing.
    """
    shared = shared_stages(experiment)
    try:
        store = request.paths.store()
        remaining = [stage for stage in shared.named().values() if not is_cached(store, stage)]
        for arm in experiment.arms:
            stages = stages_of_arm(experiment, shared, arm, request.part)
            missing = [stage for stage in stages if not is_cached(store, stage)]
            remaining += missing * candidates_like(experiment, arm)
        prediction = predicted(remaining, measured_under(request.paths.root, store))
    except UserError:
        return "no estimate of the time"
    if not remaining:
        return "nothing left to compute"
    if prediction.seconds is None or prediction.never_measured:
        return "no estimate of the time yet"
    workers = min(request.workers, len(remaining))
    start, whole = prediction.start_seconds or 0.0, prediction.seconds
    if whole.is_wide and whole.high is not None:
        return f"at most about {duration(whole.high / workers + start)}"
    return f"about {duration(whole.middle / workers + start)}"

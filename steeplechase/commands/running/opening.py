"""The first lines of a run: experiment, scale, trials and the estimated time."""

from reports.number_format import duration
from runners.cost_estimate.prediction import disk_shortage
from runners.dag import SharedStages
from runners.opening import RunRequest
from runners.work_left import WorkLeft, work_left
from steeplechase.configuration.seeds import first_seeds
from steeplechase.ledger.records import WITHOUT_SCALES


def opening_lines(request: RunRequest, is_default: bool) -> tuple[str, ...]:
    """Return experiment, scale, trials and estimated time, and a lack of space on the disk.

    `is_default` is whether nobody chose the scale.
    """
    shared = request.shared
    assert isinstance(shared, SharedStages)
    work = work_left(request.experiment, shared, request.paths, request.part)
    short = disk_shortage(None if work is None else work.prediction, request.paths.root)
    return _opening_line(request, shared, work, is_default), *(f"warning: {line}" for line in short)


def _opening_line(request: RunRequest, shared: SharedStages, work: WorkLeft | None, is_default: bool) -> str:
    experiment, part = request.experiment, request.part
    default = " (the default)" if is_default else ""
    name = experiment.experiment + ("" if request.scale == WITHOUT_SCALES else f" at scale {request.scale}{default}")
    if not experiment.has_trials:
        return f"{name}: {len(experiment.arms)} arms, no trials; {len(shared.named())} stages that measure all arms"
    seeds = first_seeds(experiment.pretraining.seeds)
    count = sum(part.has_trial(arm.name, seed) for arm in experiment.arms for seed in seeds)
    trials = f"{count} trial{'' if count == 1 else 's'}"
    if experiment.search is not None:
        trials = f"at most {max(count, experiment.search.max_candidates * len(seeds))} trials"
    left = None if work is None else work.seconds(request.settings.workers)
    if left is None:
        return f"{name}: {trials}, no estimate of the time yet"
    seconds, bounded = left
    if not seconds:
        return f"{name}: {trials}, nothing left to compute"
    return f"{name}: {trials}, {'at most ' if bounded else ''}about {duration(seconds)}"

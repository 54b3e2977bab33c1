"""What a run says first and last: trials and estimated time; what failed, and the seeds that decide more."""

import shlex
from collections.abc import Iterator, Sequence
from statistics import fmean

from reports.document import Report
from reports.number_format import duration
from runners.cost_estimate.prediction import disk_shortage
from runners.opening import RunRequest
from runners.part import WHOLE
from runners.remaining import extent_known
from runners.text_warnings import text_warnings
from runners.work_left import WorkLeft, work_left
from steeplechase.configuration.designs import Search
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.seeds import first_seeds
from steeplechase.configuration.yaml.loader import FLAG
from steeplechase.foundation.errors import UserError
from steeplechase.foundation.program import program
from steeplechase.ledger.records import NOT_ENDED, WITHOUT_SCALES, TrialStatus
from steeplechase.ledger.snapshot import Snapshot


def opening_lines(request: RunRequest, is_default: bool) -> tuple[str, ...]:
    """Return experiment, scale, trials and estimated time, a lack of space on the disk, and of text yet unread.

    `is_default` is whether nobody chose the scale.
    """
    work = _work_left(request)
    lines = [*disk_shortage(None if work is None else work.prediction, request.paths.root)]
    if work is not None and work.known.shared:
        lines += text_warnings(request.experiment)
    return _opening_line(request, work, is_default), *(f"warning: {line}" for line in lines)


def _work_left(request: RunRequest) -> WorkLeft | None:
    """Return what a run has to compute; None where a ledger beside the results is damaged."""
    experiment, places, reused = request.experiment, request.paths, request.settings.reuse
    try:
        return work_left(experiment, request.shared, request.part, places, places.store(), reused)
    except UserError:
        return None


def _opening_line(request: RunRequest, work: WorkLeft | None, is_default: bool) -> str:
    experiment, part = request.experiment, request.part
    default = " (the default)" if is_default else ""
    name = experiment.experiment + ("" if request.scale == WITHOUT_SCALES else f" at scale {request.scale}{default}")
    if not experiment.has_trials:
        stages = len(request.shared.by_label)
        return f"{name}: {len(experiment.arms)} arms, no trials; {stages} stages that measure all arms"
    seeds = first_seeds(experiment.pretraining.seeds)
    count = sum(part.has_trial(arm.name, seed) for arm in experiment.arms for seed in seeds)
    trials = f"{count} trial{'' if count == 1 else 's'}"
    trials = trials if isinstance(experiment.pretraining.seeds, tuple) else f"at least {trials}"
    if (search := experiment.search) is not None:
        trials = f"at most {max(count, search.max_candidates * len(seeds))} trials"
        trials += "" if search.finalists is None else " and a final comparison"
    trials += "" if experiment.tune is None else " after tuning"
    left = None if work is None else work.seconds(request.settings.workers)
    if left is None:
        return f"{name}: {trials}, no estimate of the time yet"
    seconds, bounded = left
    if not seconds:
        return f"{name}: {trials}, nothing left to compute{extent_known(experiment)}"
    return f"{name}: {trials}, {'at most ' if bounded else ''}about {duration(seconds)}"


SEEDS, FINAL_SEEDS = "pretraining.seeds", "design.finalists.seeds"


def failure_lines(snapshot: Snapshot, experiment: Experiment) -> Iterator[str]:
    """Yield lines about the failed trials, which the next run repeats."""
    if not snapshot.failed:
        return
    names = ", ".join(history.trial.name for history in snapshot.failed)
    yield f"failed: {names}; the same command repeats them"
    if not experiment.may_grow:
        yield "No decision that depends on their results has been made."
    if experiment.search is not None:
        yield "A candidate that can never run is excluded by `constraints:`, in another --out folder."


def lines_of_a_part(request: RunRequest, snapshot: Snapshot) -> Iterator[str]:
    """Yield a line about the trials that a run of a part has not finished."""
    waiting = sum(history.status in NOT_ENDED for history in snapshot.histories)
    if request.part != WHOLE and waiting:
        trials = "1 trial is" if waiting == 1 else f"{waiting} trials are"
        rest = "the same command without --arms, --seeds and --tasks runs the rest"
        yield f"left for later: {trials} unfinished; {rest}"


def deciding_lines(request: RunRequest, snapshot: Snapshot, report: Report) -> Iterator[str]:
    """Yield what is undecided, and the command with the seeds that decide it; nothing for seeds added by a rule."""
    experiment, summary = request.experiment, report.summary
    if summary is None or not summary.undecided:
        return
    seeds, needed = experiment.pretraining.seeds, summary.seeds_to_decide
    if not isinstance(seeds, tuple) or any(history.status in NOT_ENDED for history in snapshot.histories):
        return
    yield f"undecided: {', '.join(summary.undecided)}, for 80% power at the observed Δ and sd"
    if needed is not None and snapshot.final is not None:
        if isinstance(experiment.design, Search) and snapshot.final.plan.declared:
            folder = request.paths.folder
            places = ["--out", f"{folder}-{needed}-seeds", "--reuse", str(folder)]
            yield f"decide in a new folder: {_command(request, FINAL_SEEDS, str(needed), places)}"
    elif needed is not None:
        time = _time(snapshot, len(snapshot.arms) * (needed - len(seeds)), request.settings.workers)
        places = ["--out", str(request.paths.folder)]
        yield f"decide{time}: {_command(request, SEEDS, _with_more(seeds, needed), places)}"
        yield (
            "the verdicts of that run are exploratory: their error rates do not count this look at the results; "
            "`seeds: { until_decided: … }` in a new folder counts every look"
        )


def _time(snapshot: Snapshot, trials: int, workers: int) -> str:
    """Return the time of so many trials as long as the finished ones; empty without one."""
    seconds = [
        sum(record.total_seconds for record in history.records)
        for history in snapshot.histories
        if history.status is TrialStatus.FINISHED
    ]
    return f" in about {duration(fmean(seconds) * trials / workers)}" if seconds else ""


def _with_more(seeds: tuple[int, ...], needed: int) -> str:
    """Return the seeds with the next ones; a number stands for 1, 2, 3 up to it."""
    if seeds == tuple(range(1, len(seeds) + 1)):
        return str(needed)
    more = (*seeds, *range(max(seeds) + 1, max(seeds) + 1 + needed - len(seeds)))
    return f"[{','.join(map(str, more))}]"


def _command(request: RunRequest, setting: str, value: str, places: Sequence[str]) -> str:
    """Return the run's command with another value of a setting, into the folder that `places` names."""
    _, *arguments = shlex.split(request.command)
    given = [at for at, word in enumerate(arguments) if word == FLAG and arguments[at + 1].startswith(f"{setting}=")]
    kept = [word for at, word in enumerate(arguments) if not {at, at - 1} & set(given)]
    return shlex.join([program(), *kept, FLAG, f"{setting}={value}", *places])

"""Lines at the end of a run: what is undecided, and the command that would decide it."""

import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean

from reports.document import Report
from reports.made_with import PROGRAM, duration
from runners.opening import RunRequest
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.yaml.settings import FLAG
from steeplechase.ledger.records import NOT_ENDED, TrialStatus
from steeplechase.ledger.snapshot import Snapshot

SEEDS = "pretraining.seeds"


def program() -> str:
    """Return how this program was called: its name where the shell finds it, otherwise the path to it."""
    called = Path(sys.argv[0])
    found = shutil.which(PROGRAM)
    return PROGRAM if called.name != PROGRAM or (found and Path(found).samefile(called)) else str(called)


def deciding_lines(request: RunRequest, snapshot: Snapshot, report: Report) -> Iterator[str]:
    """Yield what is undecided, and the command with the seeds that decide it; nothing for seeds added by a rule."""
    experiment, summary = request.experiment, report.summary
    if summary is None or not summary.undecided or not isinstance(experiment, Experiment):
        return
    seeds, needed = experiment.pretraining.seeds, summary.seeds_to_decide
    if not isinstance(seeds, tuple) or any(history.status in NOT_ENDED for history in snapshot.histories):
        return
    yield f"undecided: {', '.join(summary.undecided)}, for 80% power at the observed Δ and sd"
    if needed is not None:
        time = _time(snapshot, len(snapshot.arms) * (needed - len(seeds)), request.settings.workers)
        yield f"decide{time}: {_command(request, _with_more(seeds, needed))}"


def _time(snapshot: Snapshot, trials: int, workers: int) -> str:
    """Return the time of so many trials as long as the finished ones; empty without one."""
    seconds = [
        sum(record.seconds for record in history.records)
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


def _command(request: RunRequest, seeds: str) -> str:
    """Return the run's command with other seeds, into the same folder."""
    _, *arguments = shlex.split(request.command)
    places = [at for at, word in enumerate(arguments) if word == FLAG and arguments[at + 1].startswith(f"{SEEDS}=")]
    kept = [word for at, word in enumerate(arguments) if not {at, at - 1} & set(places)]
    return shlex.join([program(), *kept, FLAG, f"{SEEDS}={seeds}", "--out", str(request.paths.folder)])

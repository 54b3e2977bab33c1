"""Watch over running stages: a line for one that waits or is silent, and the end of a worker that hangs.

A stage reports its progress in a file of the store, and its process has signed the stage's lock. A stage of another
run's process is waited for. A worker of this run without progress for longer than the limit counts as dead: it is
killed, and its stage tried again as after any death.
"""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from runners.cost_estimate.flops import stage_flops
from runners.executors import Executor
from runners.limits import SECONDS_PER_HOUR
from runners.work_queue import Failure, StageTask, TaskId
from steeplechase.foundation.locking import SILENT_SECONDS, Holder, tell
from steeplechase.ledger.artifacts import ArtifactStore, Outcome
from steeplechase.ledger.records import Record, Status

SECONDS_BETWEEN_LOOKS = 1.0
FIRST_LINE_SECONDS, FIRST_LINE_OF_START_SECONDS = 30.0, 120.0
"""Silence before a line, of a stage that has reported progress, and of one that has not: libraries are imported."""
TIMES_LONGEST_PAUSE = 3.0
LEAST_LIMIT_SECONDS = SECONDS_PER_HOUR
TIMES_EXPECTED = 20.0
SLOWEST_SECONDS_PER_FLOP = 1e-9
"""One core at a hundredth of its speed: what a stage is expected to take before one of its kind has been measured."""


@dataclass
class _Watched:
    """What was seen of a running stage."""

    since: float
    changed: float
    progress: int | None = None
    """Time of the progress file's last change, None without one."""
    held: bool = False
    """Whether a process held the lock of the stage at the last look."""
    waiting_told: bool = False
    silence_told: bool = False
    end_told: bool = False


class StageWatch:
    """Looks at the running stages of a run once a second."""

    def __init__(self, store: ArtifactStore, driver: str, limit_seconds: float | None = None) -> None:
        self._store, self._driver, self._limit = store, driver, limit_seconds
        self._watched: dict[TaskId, _Watched] = {}
        self._ended: dict[TaskId, str] = {}
        self._last_look = self._longest_pause = 0.0

    def look(self, started: Mapping[TaskId, StageTask], records: Iterable[Record], executor: Executor) -> None:
        """Tell of stages that wait or are silent, and end the workers that hang. `records` are of computed stages."""
        now = time.monotonic()
        if now - self._last_look < SECONDS_BETWEEN_LOOKS:
            return
        self._last_look = now
        self._watched = {name: self._watched.get(name, _Watched(now, now)) for name in started}
        for name, watched in self._watched.items():
            task, silent = started[name], self._silence(started[name], watched, now)
            if (silent if watched.held else now - watched.since) < SILENT_SECONDS:
                continue
            holder = self._store.holder(task.stage.key)
            watched.held = holder is not None
            if holder is not None and holder.owner != self._driver:
                if not watched.waiting_told:
                    watched.waiting_told = True
                    tell(f"{_name(task)}: waits for {holder}, which computes the same stage for another run")
                watched.changed = now - SILENT_SECONDS  # the limit is that of this run's own workers
            elif silent >= min(limit := self.limit_of(task, records), self._first_line_after(watched)):
                self._tell_silence(task, watched, holder, silent, limit, executor)

    def explained(self, task: StageTask, end: Outcome | Failure) -> Outcome | Failure:
        """Return the end of a task, with the reason if its worker was ended here."""
        reason = self._ended.pop(task.task_id, None)
        if reason is None or isinstance(end, Outcome) or not end.worker_died:
            return end
        return Failure(reason, worker_died=True)

    def limit_of(self, task: StageTask, records: Iterable[Record]) -> float:
        """Return the seconds without progress after which the worker of a stage counts as dead.

        Without a limit of the user: `TIMES_EXPECTED` times the longest duration of a computed stage of its kind, or
        its duration from its FLOPs at `SLOWEST_SECONDS_PER_FLOP`; an hour at least.
        """
        if self._limit is not None:
            return self._limit
        measured = [
            record.seconds
            for record in records
            if record.stage == task.stage.kind and record.status is Status.FINISHED and not record.reused
        ]
        expected = max(measured, default=stage_flops(task.stage) * SLOWEST_SECONDS_PER_FLOP)
        return max(LEAST_LIMIT_SECONDS, TIMES_EXPECTED * expected)

    def _silence(self, task: StageTask, watched: _Watched, now: float) -> float:
        """Return the seconds since a stage's last progress, as seen here: clocks of other machines may differ."""
        try:
            progress = self._store.progress_file(task.stage.key).stat().st_mtime_ns
        except OSError:
            progress = None
        if progress != watched.progress:
            if watched.progress is not None:
                self._longest_pause = max(self._longest_pause, now - watched.changed)
            watched.progress, watched.changed, watched.silence_told = progress, now, False
        return now - watched.changed

    def _first_line_after(self, watched: _Watched) -> float:
        least = FIRST_LINE_OF_START_SECONDS if watched.progress is None else FIRST_LINE_SECONDS
        return max(least, TIMES_LONGEST_PAUSE * self._longest_pause)

    def _tell_silence(
        self,
        task: StageTask,
        watched: _Watched,
        holder: Holder | None,
        silent: float,
        limit: float,
        executor: Executor,
    ) -> None:
        """Tell of a silent stage, and end its worker, the holder of its lock, beyond the limit."""
        process = "its process" if holder is None else str(holder)
        if silent < limit:
            if not watched.silence_told:
                watched.silence_told = True
                end = f"after {_rounded(limit)} without any, {process} is ended and the stage tried again"
                tell(f"{_name(task)}: no progress for {silent:.0f} s; {end}")
            return
        reason = f"no progress for {_rounded(limit)}"
        if executor.end_worker(task, holder):
            self._ended[task.task_id] = f"{reason}; {process} was ended"
            watched.changed = time.monotonic()  # until `finished` returns its death
            tell(f"{_name(task)}: {reason}; {process} is ended, and the stage tried again")
        elif not watched.end_told:
            watched.end_told = True
            tell(f"{_name(task)}: {reason}; end {process}, or stop this run: the same command resumes")


def _name(task: StageTask) -> str:
    return f"{task.trial or 'shared'} {task.label}"


def _rounded(seconds: float) -> str:
    """Return a limit in words: a multiple of a measured time is no round number."""
    minutes = seconds / 60
    return f"{seconds:.0f} s" if minutes < 1 else f"{minutes:.0f} min" if minutes < 120 else f"{minutes / 60:.0f} h"

"""Where an executor of whole trials, such as Ray Tune, meets the course: which trial is next, what it then does."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

from ledger.artifacts import Outcome
from runners.executors.worker import as_line
from runners.scheduling.course import Course
from runners.stages.stage import Job
from runners.work_queue import Failure, StageTask, end_of

CONTINUE, STOP = "CONTINUE", "STOP"  # what Tune's schedulers answer
FINISHED = "FINISHED"  # what Tune's searchers answer when they have no more


class TuneAdapter:
    """Answers what the executor asks, from the course alone.

    A trial that waits at a hurdle is stopped, and handed out again with its remaining stages once it may go on; so is
    one whose process died. The executor thus never holds a trial that does not run.
    """

    def __init__(self, course: Course, store: Path) -> None:
        self.course = course
        self._store = str(store)
        self._handed_out: dict[str, list[StageTask]] = {}
        """Stages that a trial still had to do when it was handed out."""
        self._deaths: Counter[tuple[str, str]] = Counter()

    def nothing_to_run(self) -> bool:
        """Take in everything that the store holds and say whether that was all."""
        while not self.course.over:
            if any(self.course.waiting(name) for name in self.course.trial_names()):
                return False
        return True

    def next_trial(self) -> dict[str, Any] | str | None:
        """Return the next trial's configuration, None where one must end first, FINISHED after the last."""
        if self.course.over:
            return FINISHED
        for name in self.course.trial_names():
            if name not in self._handed_out and (work := self.course.waiting(name)):
                self._handed_out[name] = work
                return {"trial": name, "jobs": [as_line(Job.of(each.stage, self._store)) for each in work]}
        return None

    def take(self, name: str, step: int, line: str) -> str:
        """Pass a result to the course and return what the trial does next. Raises the Refusal of a stage."""
        return self._finish(self._handed_out[name][step - 1], end_of(json.loads(line)))

    def died(self, name: str, why: str) -> None:
        """Take in that a trial's process died: the course says whether its stage is tried again."""
        rest = self.course.waiting(name)
        if rest:  # else it died behind its last stage, or at a hurdle, where nothing is lost
            self._deaths[name, rest[0].label] += 1
            times = self._deaths[name, rest[0].label]
            error = f"the trial's process died {'once' if times == 1 else f'{times} times'}: {why}"
            self._finish(rest[0], Failure(error, worker_died=True))
        self._handed_out.pop(name, None)

    def _finish(self, work: StageTask, end: Outcome | Failure) -> str:
        assert work.trial is not None
        self.course.finish(work, end)
        if not self.course.ended(work.trial) and self.course.waiting(work.trial):
            return CONTINUE
        self._handed_out.pop(work.trial)  # over, or at a hurdle; the audit trains on what a hurdle has stopped
        return STOP

"""Where a trial-by-trial executor such as Ray Tune meets the course: which trial is which, and what it does next."""

import json
from pathlib import Path
from typing import Any

from runners.driving.course import Course
from runners.driving.work import Failure, Work
from runners.engines.worker import as_line
from runners.kept.records import Status
from runners.kept.store import Outcome
from runners.stages.stage import Job
from search_space.refusals import Refusal

RETRIES = 2  # of a trial whose process died
CONTINUE, PAUSE, STOP = "CONTINUE", "PAUSE", "STOP"  # what Tune's schedulers answer
FINISHED = "FINISHED"  # what Tune's searchers answer when they have no more


class Hall:
    """Where Tune's two sides meet the course: which trial is which, and a refusal that ends it all."""

    def __init__(self, course: Course, store: Path) -> None:
        self.course = course
        self.refusal: Refusal | None = None
        self._store = str(store)
        self._handed_out: set[str] = set()
        self._remaining: dict[str, list[Work]] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Give nothing to a pickle: Tune writes one of itself, which nobody ever reads."""
        return {}

    def nothing_to_run(self) -> bool:
        """Take in everything that the store holds and say whether that was all."""
        while not self.course.over:
            if any(self.course.waiting(name) for name in self.course.trial_names()):
                return False
        return True

    def next_trial(self) -> dict[str, Any] | str | None:
        """Return the next trial's configuration, None where one must end first, FINISHED after the last."""
        if self.refusal is not None or self.course.over:
            return FINISHED
        for name in self.course.trial_names():
            if name not in self._handed_out and (work := self.course.waiting(name)):
                self._handed_out.add(name)
                self._remaining[name] = work
                return {"trial": name, "jobs": [as_line(Job.of(each.stage, self._store)) for each in work]}
        return None

    def take(self, name: str, step: int, line: str) -> str:
        """Pass a result to the course and return what the trial does next."""
        work = self._remaining[name][step - 1]
        told = json.loads(line)
        end = (
            Failure.of(told) if "error" in told else Outcome(Status(told["status"]), told["result"], told["seconds"])
        )
        return self.finish(work, end)

    def finish(self, work: Work, end: Outcome | Failure) -> str:
        """Tell the course how a stage ended and return what its trial does next."""
        assert work.trial is not None
        try:
            self.course.finish(work, end)
        except Refusal as refusal:
            self.refusal = refusal
        if self.refusal is not None or self.course.ended(work.trial):
            self.release(work.trial)
            return STOP
        ready = bool(self.course.waiting(work.trial))
        return CONTINUE if ready else PAUSE

    def release(self, name: str) -> None:
        """Let a trial be handed out again: the audit trains on what a hurdle has stopped."""
        self._handed_out.discard(name)

    def give_up(self, name: str) -> None:
        """Record that a trial's process died too often."""
        rest = self.course.waiting(name)
        if rest:
            self.finish(rest[0], Failure(f"the trial's process died {RETRIES + 1} times"))

"""What one sees while an experiment runs: a live table in a terminal, a line per finished stage elsewhere."""

import time
from collections.abc import Iterator
from functools import partial
from typing import Any

from rich.console import Console, Group
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from commands.views.screen import Screen, time_left
from runners.driving.effort import effort
from runners.driving.work import Agenda, Work
from runners.kept.records import Record, Status
from runners.kept.store import StageStore
from runners.stages.progress import StageProgress, read_progress

Running = list[tuple[Work, StageProgress]]


class LiveView(Screen):
    """Draws an agenda; it reads progress files and the run's own records, and changes nothing."""

    def __init__(self, console: Console, store: StageStore) -> None:
        super().__init__(console)
        self._store = store
        self._clock: _Clock | None = None
        self._told = 0
        """Records of the agenda that have been told."""

    def watch(self, agenda: Agenda) -> None:
        """Tell what has ended since the last look, and draw what is running."""
        if self._clock is None or self._clock.agenda is not agenda:
            self._clock, self._told = _Clock(agenda), 0
        clock, running = self._clock, partial(self._running, agenda)
        ended = [one for one in enumerate(agenda.recorded[self._told :], self._told + 1) if not one[1].reused]
        left = clock.left(clock.share(running())) if ended else ""
        for number, record in ended:
            self.tell(_line(record, number, left))
        self._told = len(agenda.recorded)
        self.draw(lambda: _drawing(clock, running()))

    def _running(self, agenda: Agenda) -> Running:
        starting = StageProgress("starting", 0.0)
        return [
            (work, read_progress(self._store.progress_file(work.stage.key)) or starting) for work in agenda.running
        ]


class _Clock:
    """How much of an agenda is done, by operations, and how long the rest will take at the pace so far."""

    def __init__(self, agenda: Agenda) -> None:
        self.agenda = agenda
        self._started = time.monotonic()
        self._weights: dict[str, float] = {}
        self._at_start = self._effort_left([])

    def share(self, running: Running) -> float:
        """Return the share that is done, of what there was at the start."""
        if self._at_start == 0:
            return 1.0
        return min(1.0, max(0.0, 1 - self._effort_left(running) / self._at_start))

    def left(self, share: float) -> str:
        """Return the time left in words by the share that is done, nothing while that is too little to tell."""
        return time_left((time.monotonic() - self._started) * (1 - share) / share) if share >= 0.01 else ""

    def _effort_left(self, running: Running) -> float:
        whole = sum(map(self._weight, self.agenda.remaining))
        return whole - sum(progress.share * self._weight(work) for work, progress in running)

    def _weight(self, work: Work) -> float:
        if work.stage.key not in self._weights:
            self._weights[work.stage.key] = effort(work.stage) or 1.0
        return self._weights[work.stage.key]


def _drawing(clock: _Clock, running: Running) -> Group:
    table = Table(box=None, pad_edge=False, expand=False)
    for heading in ("running", "stage", "", "loss", "tokens/s"):
        table.add_column(heading, justify="right" if heading in ("loss", "tokens/s") else "left")
    for work, progress in running:
        table.add_row(*_cells(work, progress))
    done = clock.share(running)
    left = clock.left(done) or "estimating the time left"
    bar = Table.grid(padding=(0, 1))
    bar.add_row(ProgressBar(total=1.0, completed=done, width=40), f"{done:4.0%}", left)
    return Group(table, bar)


def _cells(work: Work, progress: StageProgress) -> Iterator[Any]:
    yield Text(work.trial or "shared by all trials")
    yield Text(f"{work.label}: {progress.what}" if work.trial is None else work.label)
    yield ProgressBar(total=1.0, completed=progress.share, width=20)
    yield "" if progress.loss is None else f"{progress.loss:.3f}"
    yield "" if progress.tokens_per_second is None else f"{progress.tokens_per_second:,.0f}"


def _line(record: Record, number: int, left: str) -> str:
    place = f"{record.trial or 'shared'} {record.label}"
    ahead = f"; {left}" if left and record.trial else ""  # what trials share is done before their time can be told
    return f"[{number}] {place}: {_found(record)} ({record.seconds:.1f} s){ahead}"


def _found(record: Record) -> str:
    if record.status is Status.FAILED:
        return f"failed: {record.result.get('error')}"
    if record.status is Status.DIVERGED:
        return f"diverged at {record.result.get('tokens')} tokens"
    scores = record.result.get("scores")
    if isinstance(scores, dict):
        return ", ".join(f"{metric} {value:.1f}" for metric, value in scores.items())
    loss = record.result.get("held_out_loss")
    return "done" if loss is None else f"held-out loss {loss:.4f}"

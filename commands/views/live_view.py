"""What one sees while an experiment runs: a live table in a terminal, a line per finished stage elsewhere."""

import time
from collections.abc import Iterator
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from runners.driving.effort import effort
from runners.driving.work import Agenda, Work
from runners.kept.records import Record, Status
from runners.kept.store import StageStore
from runners.stages.progress import StageProgress, read_progress

SECONDS_BETWEEN_DRAWINGS = 0.5


class LiveView:
    """Draws an agenda; it reads progress files and the run's own records, and changes nothing."""

    def __init__(self, console: Console, store: StageStore) -> None:
        self._console, self._store = console, store
        self._live: Live | None = (
            Live(console=console, auto_refresh=False, transient=True) if console.is_terminal else None
        )
        self._told: dict[int, int] = {}
        self._clock: dict[int, _Clock] = {}
        self._drawn = 0.0

    def __enter__(self) -> "LiveView":
        """Take over the terminal's last lines, where there is a terminal."""
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Give the terminal back."""
        if self._live is not None:
            self._live.stop()

    def watch(self, agenda: Agenda) -> None:
        """Tell what has ended since the last look, and draw what is running."""
        if id(agenda) not in self._clock:
            self._clock[id(agenda)] = _Clock(agenda)
        clock = self._clock[id(agenda)]
        first = self._told.get(id(agenda), 0)
        ended = [one for one in enumerate(agenda.recorded[first:], first + 1) if not one[1].reused]
        left = clock.left(agenda, self._running(agenda)) if ended else ""
        for number, record in ended:
            self._console.print(_line(record, number, left), markup=False, highlight=False, soft_wrap=True)
        self._told[id(agenda)] = len(agenda.recorded)
        now = time.monotonic()
        if self._live is not None and now - self._drawn >= SECONDS_BETWEEN_DRAWINGS:
            self._drawn = now
            self._live.update(self._drawing(agenda, clock), refresh=True)

    def _running(self, agenda: Agenda) -> list[tuple[Work, StageProgress]]:
        starting = StageProgress("starting", 0.0)
        return [
            (work, read_progress(self._store.progress_file(work.stage.key)) or starting) for work in agenda.running
        ]

    def _drawing(self, agenda: Agenda, clock: "_Clock") -> Group:
        table = Table(box=None, pad_edge=False, expand=False)
        for heading in ("running", "stage", "", "loss", "tokens/s"):
            table.add_column(heading, justify="right" if heading in ("loss", "tokens/s") else "left")
        running = self._running(agenda)
        for work, progress in running:
            table.add_row(*_cells(work, progress))
        done, left = clock.share(agenda, running), clock.left(agenda, running)
        bar = Table.grid(padding=(0, 1))
        bar.add_row(
            ProgressBar(total=1.0, completed=done, width=40), f"{done:4.0%}", left or "estimating the time left"
        )
        return Group(table, bar)


class _Clock:
    """How much of an agenda is done, by operations, and how long the rest will take at the pace so far."""

    def __init__(self, agenda: Agenda) -> None:
        self._started = time.monotonic()
        self._weights: dict[str, float] = {}
        self._at_start = self._effort_left(agenda, [])

    def share(self, agenda: Agenda, running: list[tuple[Work, StageProgress]]) -> float:
        if self._at_start == 0:
            return 1.0
        return min(1.0, max(0.0, 1 - self._effort_left(agenda, running) / self._at_start))

    def left(self, agenda: Agenda, running: list[tuple[Work, StageProgress]]) -> str:
        """Return the time left in words, nothing while too little is done to tell."""
        share = self.share(agenda, running)
        return f"{_duration((time.monotonic() - self._started) * (1 - share) / share)} left" if share >= 0.01 else ""

    def _effort_left(self, agenda: Agenda, running: list[tuple[Work, StageProgress]]) -> float:
        whole = sum(map(self._weight, agenda.remaining))
        return whole - sum(progress.share * self._weight(work) for work, progress in running)

    def _weight(self, work: Work) -> float:
        if work.stage.key not in self._weights:
            self._weights[work.stage.key] = effort(work.stage) or 1.0
        return self._weights[work.stage.key]


def _cells(work: Work, progress: StageProgress) -> Iterator[Any]:
    yield Text(work.trial or "shared by all trials")
    yield Text(f"{work.label}: {progress.what}" if work.trial is None else work.label)
    yield ProgressBar(total=1.0, completed=progress.share, width=20)
    yield "" if progress.loss is None else f"{progress.loss:.3f}"
    yield "" if progress.tokens_per_second is None else f"{progress.tokens_per_second:,.0f}"


def _line(record: Record, number: int, left: str) -> str:
    place = f"{record.trial or 'shared'} {record.label}"
    return f"[{number}] {place}: {_found(record)} ({record.seconds:.1f} s){f'; {left}' if left else ''}"


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


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"

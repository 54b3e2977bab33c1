"""What one sees while an experiment runs: a live table in a terminal, a line per finished stage elsewhere."""

import time
from collections.abc import Iterator
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from analysis.bootstrap import median
from commands.terminal.screen import Screen, time_left
from commands.terminal.trial_grid import ENDED, counts, trial_grid
from configuration.stage_label import LATENCY
from ledger.artifacts import ArtifactStore
from ledger.records import Record
from ledger.stage_results import (
    DivergedFineTuning,
    DivergedPretraining,
    FailedStage,
    FineTuneResult,
    LatencyResult,
    PretrainResult,
)
from reports.number_format import milliseconds_text
from runners.cost_estimate.flops import stage_flops
from runners.run_progress import RunProgress
from runners.stages.progress import StageProgress, read_progress
from runners.work_queue import StageTask

Running = list[tuple[StageTask, StageProgress]]
STARTING = StageProgress("starting", 0.0)
LEAST_DONE = 0.01
"""Of what a run does itself, before which the time left would be a guess."""
LONG_SECONDS = 600
BAR_WIDTH, STAGE_BAR_WIDTH, LINES_AROUND_GRID = 24, 12, 5
NUMBERS = ("time", "loss", "tokens/s")
HEADINGS = ("running", "stage", "", *NUMBERS)


class LiveView(Screen):
    """Draws a part of a run; it reads progress files and the run's own records, and changes nothing."""

    def __init__(self, console: Console, store: ArtifactStore) -> None:
        super().__init__(console)
        self._store = store
        self._account: _Account | None = None

    def watch(self, part: RunProgress) -> None:
        """Tell what has ended since the last look, and draw what is running and how far the run is."""
        known = self._account
        new = known is None or known.part is not part
        account = self._account = _Account(part) if known is None or new else known
        if new or len(part.recorded) > account.told:
            self._tell_ended(account, new)
        self.draw(lambda: self._drawing(account, self._running(part)), at_once=new)

    def _tell_ended(self, account: "_Account", first: bool) -> None:
        """Tell of each stage that was computed, of those that were found finished by their number, and of trials."""
        whole, left = account.whole, account.left(self._running(account.part))
        found = account.found_before if first else 0
        for record in account.untold():
            if record.reused:
                found += 1
                continue
            self._tell_cached(account, found, whole)
            found = 0
            self.tell(_line(record, f"{account.number}/{whole}", left))
        self._tell_cached(account, found, whole)
        ended = account.trials_ended()
        if ended and not self.live:
            self.tell(f"trials: {ended}")

    def _tell_cached(self, account: "_Account", found: int, whole: int) -> None:
        if found:
            more = " more" if account.cached > found else ""
            self.tell(f"{account.whose}: {found}{more} of {whole} stages cached")

    def _running(self, part: RunProgress) -> Running:
        return [(work, self._progress(work) or STARTING) for work in part.running]

    def _progress(self, work: StageTask) -> StageProgress | None:
        return read_progress(self._store.progress_file(work.stage.key))

    def _drawing(self, account: "_Account", running: Running) -> Group:
        table = Table(box=None, pad_edge=False, expand=False)
        for heading in HEADINGS:
            table.add_column(heading, justify="right" if heading in NUMBERS else "left")
        for work, progress in running:
            table.add_row(*_cells(work, progress, account.seconds(work)))
        parts: list[RenderableType] = [table]
        if account.part.statuses:
            options = self.console.options
            room = self.console.height - LINES_AROUND_GRID - len(running)
            parts.append(trial_grid(account.part.statuses, self.console.width, room, options.ascii_only))
        return Group(*parts, account.bar(running))


class _Account:
    """What is done of a part of a run, by stages and operations, and how long the rest takes at the pace so far."""

    def __init__(self, part: RunProgress) -> None:
        self.part = part
        self.told = 0
        """Records of the part that have been told."""
        self.found_before = len(part.done) - len(part.recorded)
        """Stages that an earlier run of the same folder has finished."""
        self.cached = self.found_before
        """Stages that this run had not to compute, as far as they have been told."""
        self._started = time.monotonic()
        self._trials_ended = 0
        self._weights: dict[str, float] = {}
        self._first_seen: dict[str, float] = {}
        self._since: dict[str, float] = {}

    @property
    def number(self) -> int:
        """How many stages have ended, up to the last record that was told."""
        return self.found_before + self.told

    @property
    def whole(self) -> int:
        """How many stages there are, as far as is known: hurdles take some away, a search's cohorts add some."""
        return len(self.part.done) + len(self.part.remaining)

    @property
    def whose(self) -> str:
        """What the stages belong to."""
        if self.part.statuses:
            return "trials"
        kinds = {work.stage.kind for work in (*self.part.done, *self.part.remaining)}
        return "timed" if kinds == {LATENCY} else "shared by all trials"

    def untold(self) -> Iterator[Record]:
        """Yield the records that have not been told and count them as told."""
        for record in self.part.recorded[self.told :]:
            self.told += 1
            self.cached += record.reused
            yield record

    def trials_ended(self) -> str:
        """Return how the trials stand where one has ended since the last time, else nothing."""
        standings = self.part.statuses
        ended = sum(standing in ENDED for _, standing in standings)
        news, self._trials_ended = ended != self._trials_ended, ended
        return counts(standings) if news else ""

    def seconds(self, work: StageTask) -> float:
        """Return for how long a stage has been seen running."""
        now = time.monotonic()
        return now - self._since.setdefault(work.stage.key, now)

    def share(self, running: Running) -> float:
        """Return the share of all operations that is done, whoever has done it."""
        done, left = self._done(running)
        return done / (done + left) if done + left else 1.0

    def left(self, running: Running) -> str:
        """Return the time left in words at the pace of this run, nothing while that is too little to tell."""
        mine = {(record.trial, record.label) for record in self.part.recorded if not record.reused}
        computed = sum(self._weight(work) for work in self.part.done if (work.trial, work.label) in mine)
        computed += sum(self._progressed(work, progress) * self._weight(work) for work, progress in running)
        left = self._done(running)[1]
        known = computed > LEAST_DONE * (computed + left)
        return time_left((time.monotonic() - self._started) * left / computed) if known else ""

    def bar(self, running: Running) -> Table:
        """Return the bar over all its stages."""
        share, bar = self.share(running), Table.grid(padding=(0, 1))
        stages = f"{len(self.part.done)}/{self.whole} stages"
        left = self.left(running) or "estimating the time left" if self.part.remaining else ""
        bar.add_row(ProgressBar(total=1.0, completed=share, width=BAR_WIDTH), f"{share:4.0%}", stages, left)
        return bar

    def _done(self, running: Running) -> tuple[float, float]:
        """Return the operations that are done and those that are left."""
        begun = sum(min(1.0, progress.share) * self._weight(work) for work, progress in running)
        return (
            sum(map(self._weight, self.part.done)) + begun,
            max(0.0, sum(map(self._weight, self.part.remaining)) - begun),
        )

    def _progressed(self, work: StageTask, progress: StageProgress) -> float:
        """Return the share of a stage that this run has computed: one that is carried on begins in its middle."""
        first = min(progress.share, self._first_seen.get(work.stage.key, progress.share))
        self._first_seen[work.stage.key] = first
        return progress.share - first

    def _weight(self, work: StageTask) -> float:
        if work.stage.key not in self._weights:
            self._weights[work.stage.key] = stage_flops(work.stage) or 1.0
        return self._weights[work.stage.key]


def _cells(work: StageTask, progress: StageProgress, seconds: float) -> Iterator[Any]:
    yield Text(work.trial or work.label)
    yield Text(progress.what if work.trial is None else work.label)
    yield ProgressBar(total=1.0, completed=progress.share, width=STAGE_BAR_WIDTH)
    yield f"{seconds:.0f} s" if seconds < LONG_SECONDS else f"{seconds / 60:.0f} min"
    yield "" if progress.loss is None else f"{progress.loss:.3f}"
    yield "" if progress.tokens_per_second is None else f"{progress.tokens_per_second:,.0f}"


def _line(record: Record, number: str, left: str) -> str:
    owner = record.trial or ("" if record.stage == LATENCY else "shared")
    place = f"{owner} {record.label}".lstrip()
    ahead = f"; {left}" if left and record.trial else ""  # what trials share is done before their time can be told
    return f"[{number}] {place}: {_found(record)} ({record.seconds:.1f} s){ahead}"


def _found(record: Record) -> str:
    text = "done"
    match record.result:
        case FailedStage(error=error):
            text = f"failed: {error}"
        case DivergedPretraining(tokens=tokens):
            text = f"diverged at {tokens} tokens"
        case DivergedFineTuning(step=step):
            text = "diverged" if step is None else f"diverged at update {step}"
        case FineTuneResult(scores=scores):
            text = ", ".join(f"{metric} {value:.1f}" for metric, value in scores.items())
        case PretrainResult(held_out_loss=loss):
            text = f"held-out loss {loss:.4f}"
        case LatencyResult(arms=arms, seconds=seconds):
            medians = ((arm, median(seconds[arm]).value) for arm in arms)
            text = ", ".join(f"{arm} {milliseconds_text(took)} ms" for arm, took in medians)
    return text

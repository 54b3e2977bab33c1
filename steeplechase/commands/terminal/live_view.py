"""Progress of a running experiment: a live table in a terminal, else one line per finished stage."""

import time
from collections.abc import Iterator
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from reports.number_format import duration
from runners.cost_estimate.flops import stage_flops
from runners.limits import tokens_of
from runners.run_progress import RunProgress
from runners.stages.context import StageProgress, read_progress
from runners.stages.pretrain import PretrainStage
from runners.work_queue import StageTask
from search_space.cards import utilisation
from steeplechase.commands.terminal.screen import ENDED, Screen, counts, trial_grid
from steeplechase.configuration.stage_label import StageLabel
from steeplechase.foundation.devices import card, is_gpu
from steeplechase.ledger.artifacts import ArtifactStore
from steeplechase.ledger.records import Record

Running = list[tuple[StageTask, StageProgress]]
STARTING = StageProgress("starting", 0.0)
LONG_SECONDS = 600
BAR_WIDTH, STAGE_BAR_WIDTH, LINES_AROUND_GRID = 24, 12, 5
NUMBERS = ("time", "loss", "tokens/s")
HEADINGS = ("running", "stage", "", *NUMBERS)


class LiveView(Screen):
    """Draws a part of a run, from progress files and the run's records; read-only."""

    def __init__(self, console: Console, store: ArtifactStore) -> None:
        super().__init__(console)
        self._store = store
        self._account: _ProgressAccount | None = None

    def watch(self, part: RunProgress) -> None:
        """Print the stages that ended since the last call, and draw the running stages and the progress."""
        known = self._account
        new = known is None or known.part is not part
        account = self._account = _ProgressAccount(part) if known is None or new else known
        if new or len(part.recorded) > account.reported:
            self._report_ended(account, new)
        self.draw(lambda: self._drawing(account, self._running(part)), at_once=new)

    def _report_ended(self, account: "_ProgressAccount", first: bool) -> None:
        """Print a line per computed stage, the number of cached stages, and the counts of trials."""
        total, left = account.total, account.left(self._running(account.part))
        cached_stages = account.cached_before if first else 0
        for record in account.unreported():
            if record.reused:
                cached_stages += 1
                continue
            self._report_cached(account, cached_stages, total)
            cached_stages = 0
            number = f"{account.number}/{account.in_all}"
            self.tell(_line(record, _shown_label(account.part.task_of(record)), number, left))
        self._report_cached(account, cached_stages, total)
        ended = account.trials_ended()
        if ended and not self.live:
            self.tell(f"trials: {ended}")

    def _report_cached(self, account: "_ProgressAccount", cached_stages: int, total: int) -> None:
        if cached_stages:
            more = " more" if account.cached > cached_stages else ""
            self.tell(f"{account.owner}: {cached_stages}{more} of {total} stages cached")

    def _running(self, part: RunProgress) -> Running:
        file = self._store.progress_file
        return [(work, read_progress(file(work.stage.key)) or STARTING) for work in part.running]

    def _drawing(self, account: "_ProgressAccount", running: Running) -> Group:
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


class _ProgressAccount:
    """Progress of a part of a run in stages and FLOPs, and the remaining time at the rate so far."""

    def __init__(self, part: RunProgress) -> None:
        self.part = part
        self._beside = part.beside()
        """Number of stages of the other part; the shared stages are counted before those of trials."""
        self.reported = 0
        """Number of reported records."""
        self.cached_before = len(part.done) - len(part.recorded)
        """Number of stages that an earlier run of the same folder finished."""
        self.cached = self.cached_before
        """Number of reported stages that this run did not need to compute."""
        self._started = time.monotonic()
        self._trials_ended = 0
        self._weights: dict[str, float] = {}
        self._first_seen: dict[str, float] = {}
        self._since: dict[str, float] = {}

    @property
    def number(self) -> int:
        """Number of finished stages of the run, up to the last reported record."""
        return self.before + self.cached_before + self.reported

    @property
    def before(self) -> int:
        """Number of stages of the run that are counted before those of this part."""
        return self._beside if self.part.statuses else 0

    @property
    def in_all(self) -> int:
        """Number of known stages of the run, in both parts."""
        return self.total + self._beside

    @property
    def total(self) -> int:
        """Number of known stages of this part; hurdles remove stages, later cohorts of a search add stages."""
        return len(self.part.done) + len(self.part.remaining)

    @property
    def owner(self) -> str:
        """Name of the part that the stages belong to."""
        if self.part.statuses:
            return "trials"
        return "shared by all trials"

    def unreported(self) -> Iterator[Record]:
        """Yield the records that are not reported yet, and count them as reported."""
        for record in self.part.recorded[self.reported :]:
            self.reported += 1
            self.cached += record.reused
            yield record

    def trials_ended(self) -> str:
        """Return the counts of trials by status if a trial has ended since the last call, else empty text."""
        statuses = self.part.statuses
        ended = sum(status in ENDED for _, status in statuses)
        changed, self._trials_ended = ended != self._trials_ended, ended
        return counts(statuses) if changed else ""

    def seconds(self, work: StageTask) -> float:
        """Return the seconds since a stage was first seen running."""
        now = time.monotonic()
        return now - self._since.setdefault(work.stage.key, now)

    def share(self, running: Running) -> float:
        """Return the finished share of all FLOPs, in this run and in earlier ones."""
        done, left = self._done(running)
        return done / (done + left) if done + left else 1.0

    def left(self, running: Running) -> str:
        """Return the remaining time as text; empty before a stage of every remaining kind has been computed.

        FLOPs of each kind take what they took so far; the stages of this run tell how many are computed at a time.
        """
        own = [record for record in self.part.recorded if not record.reused]
        flops: dict[str, float] = {}
        seconds: dict[str, float] = {}
        for record in own:
            flops[record.stage] = flops.get(record.stage, 0.0) + self._weight_of(record)
            seconds[record.stage] = seconds.get(record.stage, 0.0) + record.total_seconds
        pace = {kind: seconds[kind] / flops[kind] for kind in flops}
        if any(work.stage.kind not in pace for work in self.part.remaining) or not sum(seconds.values()):
            return ""

        def took(work: StageTask, share: float = 1.0) -> float:
            return share * pace[work.stage.kind] * self._weight(work)

        started = sum(took(work, min(1.0, progress.share)) for work, progress in running)
        here = sum(record.seconds for record in own)
        computed = here + sum(took(work, self._progressed(work, each)) for work, each in running)
        remaining = max(0.0, sum(map(took, self.part.remaining)) - started)
        return f"{duration((time.monotonic() - self._started) * remaining / computed)} left"

    def bar(self, running: Running) -> Table:
        """Return the progress bar over all stages."""
        share, bar = self.share(running), Table.grid(padding=(0, 1))
        stages = f"{self.before + len(self.part.done)}/{self.in_all} stages"
        left = self.left(running) or "estimating the time left" if self.part.remaining else ""
        percent = f"{share:4.0%}" if self.part.statuses else ""  # of the trials
        bar.add_row(ProgressBar(total=1.0, completed=share, width=BAR_WIDTH), percent, stages, left)
        return bar

    def _done(self, running: Running) -> tuple[float, float]:
        """Return the finished and the remaining FLOPs."""
        running_weight = sum(min(1.0, progress.share) * self._weight(work) for work, progress in running)
        return (
            sum(map(self._weight_of, self.part.done)) + running_weight,
            max(0.0, sum(map(self._weight, self.part.remaining)) - running_weight),
        )

    def _progressed(self, work: StageTask, progress: StageProgress) -> float:
        """Return the share of a stage that this run has computed; a resumed stage begins with a share."""
        first = min(progress.share, self._first_seen.get(work.stage.key, progress.share))
        self._first_seen[work.stage.key] = first
        return progress.share - first

    def _weight_of(self, record: Record) -> float:
        """Return the FLOPs of a finished stage; those of most are known since it was running or remained."""
        known = self._weights.get(record.key)
        return self._weight(self.part.task_of(record)) if known is None else known

    def _weight(self, work: StageTask) -> float:
        if work.stage.key not in self._weights:
            self._weights[work.stage.key] = stage_flops(work.stage) or 1.0
        return self._weights[work.stage.key]


def _cells(work: StageTask, progress: StageProgress, seconds: float) -> Iterator[Any]:
    yield Text(work.trial or work.label)
    yield Text(progress.what if work.trial is None else _shown_label(work))
    yield ProgressBar(total=1.0, completed=progress.share, width=STAGE_BAR_WIDTH)
    yield f"{seconds:.0f} s" if seconds < LONG_SECONDS else f"{seconds / 60:.0f} min"
    yield "" if progress.loss is None else f"{progress.loss:.3f}"
    speed = progress.tokens_per_second
    used = None if speed is None else _utilisation(work, speed)
    on_gpu = [] if used is None else [f"{used:.0%} MFU"]
    on_gpu += [] if progress.peak_bytes is None else [f"{progress.peak_bytes / 2**30:.1f} GiB"]
    yield " ".join([*([] if speed is None else [f"{speed:,.0f}"]), *([f"({', '.join(on_gpu)})"] if on_gpu else [])])


def _utilisation(work: StageTask, tokens_per_second: float) -> float | None:
    """Return the model FLOPs utilisation of each GPU of a pretraining stage; None of other stages and cards."""
    declaration = work.stage.declaration
    if not isinstance(declaration, PretrainStage) or not is_gpu(declaration.candidate.recipe.device):
        return None
    recipe = declaration.candidate.recipe
    flops_a_token = stage_flops(work.stage) / max(1, tokens_of(work))
    return utilisation(card(), recipe.precision, flops_a_token * tokens_per_second / recipe.processes)


def _shown_label(work: StageTask) -> str:
    """Return a stage's label, whose tokens are the experiment's, and the tokens of a trial with another share."""
    declaration = work.stage.declaration
    if not isinstance(declaration, PretrainStage) or StageLabel.parse(work.label).tokens is None:
        return work.label
    if not declaration.to_step:
        return "initial checkpoint"  # without pretraining
    recipe = declaration.candidate.recipe
    own = f" (trains {recipe.tokens_after(declaration.to_step)})" if recipe.token_share != 1 else ""
    return f"{work.label}{own}"


def _line(record: Record, label: str, number: str, left: str) -> str:
    place = f"{record.trial or 'shared'} {label}"
    ahead = (
        f"; {left}" if left and record.trial else ""
    )  # shared stages finish before the time of trials can be estimated
    return f"[{number}] {place}: {record.result.outcome} ({record.seconds:.1f} s){ahead}"

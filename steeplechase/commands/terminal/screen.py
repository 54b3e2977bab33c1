"""Output of long-running work: permanent lines, and in a terminal a live drawing below them.

The state of the trials is drawn as a mark per arm and seed if it fits, else (and in logs) as counts.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from steeplechase.ledger.records import TrialRow, TrialStatus

SECONDS_BETWEEN_DRAWINGS = 0.5
NAME_LETTERS, GAP = 30, 3
ENDED = (TrialStatus.FINISHED, TrialStatus.STOPPED, TrialStatus.DIVERGED, TrialStatus.FAILED)
MARKS = {
    TrialStatus.FINISHED: ("✓", "+", "green"),
    TrialStatus.RUNNING: ("▶", ">", "cyan"),
    TrialStatus.WAITING: ("·", ".", "dim"),
    TrialStatus.STOPPED: ("■", "-", "yellow"),
    TrialStatus.DIVERGED: ("∞", "~", "magenta"),
    TrialStatus.FAILED: ("✗", "!", "red"),
}
"""By status: the mark, the ASCII mark, the colour."""
TrialStatuses = Sequence[tuple[TrialRow, TrialStatus]]


class LastingConsole(Console):
    """A console that is silent once its reader has closed the pipe, where rich would end the process with 1."""

    def __init__(self, on_closed: Callable[[], None], stderr: bool = False) -> None:
        super().__init__(stderr=stderr)
        self._on_closed = on_closed

    def on_broken_pipe(self) -> None:
        """Be silent from now on, and call `on_closed`."""
        self.quiet = True
        self._on_closed()


class Screen:
    """Draws in the calling thread, because a drawing thread would disturb timings."""

    def __init__(self, console: Console) -> None:
        self.console = console
        drawable = console.is_terminal and not console.is_dumb_terminal  # a dumb terminal cannot move its cursor
        self._live = Live(console=console, auto_refresh=False, transient=True) if drawable else None
        self._drawn = 0.0

    def __enter__(self) -> Self:
        """Start the live drawing, if there is a terminal."""
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End the live drawing."""
        if self._live is not None:
            self._live.stop()

    @property
    def live(self) -> bool:
        """Whether there is a live drawing."""
        return self._live is not None

    def tell(self, line: str) -> None:
        """Print a permanent line."""
        self.console.print(line, markup=False, highlight=False, soft_wrap=True)

    def draw(self, drawing: Callable[[], RenderableType], at_once: bool = False) -> None:
        """Redraw if the last drawing is old enough, or `at_once`; no effect without a terminal."""
        now = time.monotonic()
        if self._live is not None and (at_once or now - self._drawn >= SECONDS_BETWEEN_DRAWINGS):
            self._drawn = now
            self._live.update(drawing(), refresh=True)


def counts(statuses: TrialStatuses) -> str:
    """Return the numbers of trials by status, in one line."""
    counter = Counter(status for _, status in statuses)
    parts = [f"{counter[status]} {status.value}" for status in MARKS if counter[status]]
    ended = sum(counter[status] for status in ENDED)
    return f"{ended} of {len(statuses)} ended ({', '.join(parts)})"


def trial_grid(statuses: TrialStatuses, width: int, height: int, ascii_only: bool) -> Group | Text:
    """Return the arms, each with a mark per seed, in as many columns as fit; the counts if they do not fit."""
    arms: dict[str, dict[int, TrialStatus]] = {}
    for row, status in statuses:
        arms.setdefault(row.arm, {})[row.seed] = status
    letters = min(NAME_LETTERS, max(map(len, arms), default=0))
    wide = letters + 1 + max((len(seeds) for seeds in arms.values()), default=0)
    columns = max(1, (width + GAP) // (wide + GAP))
    lines = -(-len(arms) // columns)
    if lines + 1 > height or wide > width:
        return Text(f"trials: {counts(statuses)}")
    table = Table.grid(padding=(0, GAP, 0, 0))
    names = [*arms]
    for line in range(lines):
        table.add_row(*(_arm(name, arms[name], letters, ascii_only) for name in names[line::lines]))
    return Group(_legend(arms.values(), ascii_only), table)


def _arm(name: str, seeds: Mapping[int, TrialStatus], letters: int, ascii_only: bool) -> Text:
    shown = name if len(name) <= letters else f"{name[: letters - 1]}{'.' if ascii_only else '…'}"
    text = Text(f"{shown:<{letters}} ")
    for seed in sorted(seeds):
        text.append(*_mark(seeds[seed], ascii_only))
    return text


def _legend(arms: Iterable[Mapping[int, TrialStatus]], ascii_only: bool) -> Text:
    """Return the seeds, if all arms have the same, and a legend of the marks in use."""
    of_arms = [*arms]
    seed_sets = {tuple(sorted(seeds)) for seeds in of_arms}
    seeds = " ".join(map(str, min(seed_sets))) if len(seed_sets) == 1 else ""
    text = Text(f"seeds {seeds} " if len(seeds) > 1 else "trials ", style="dim", no_wrap=True, overflow="crop")
    statuses_in_use = {status for seeds in of_arms for status in seeds.values()}
    for status in MARKS:
        if status in statuses_in_use:
            text.append(" ").append(*_mark(status, ascii_only)).append(f" {status.value} ")
    return text


def _mark(status: TrialStatus, ascii_only: bool) -> tuple[str, str]:
    mark, plain, colour = MARKS[status]
    return (plain if ascii_only else mark), colour

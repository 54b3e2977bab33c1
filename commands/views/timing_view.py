"""What one sees while arms are timed: a bar with the time left in a terminal, a line per length everywhere."""

import time

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table

from reports.numbers import fixed
from reports.timing.bootstrap import median
from runners.timing.driver import Progress
from runners.timing.record import Measured

SECONDS_BETWEEN_DRAWINGS = 0.5


class TimingView:
    """Draws between rounds, in the thread that times: a drawing thread's work would be on the clock."""

    def __init__(self, console: Console, baseline: str) -> None:
        self._console, self._baseline = console, baseline
        self._live = Live(console=console, auto_refresh=False, transient=True) if console.is_terminal else None
        self._drawn = 0.0

    def __enter__(self) -> "TimingView":
        """Take over the terminal's last line, where there is a terminal."""
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Give the terminal back."""
        if self._live is not None:
            self._live.stop()

    def watch(self, progress: Progress) -> None:
        """Tell what has ended and draw how far the run is."""
        if progress.finished is not None:
            line = f"n = {progress.length}: {_ratios(progress.finished, self._baseline)}"
            self._console.print(line, markup=False, highlight=False, soft_wrap=True)
        now = time.monotonic()
        if self._live is not None and now - self._drawn >= SECONDS_BETWEEN_DRAWINGS:
            self._drawn = now
            bar = Table.grid(padding=(0, 1))
            share = ProgressBar(total=1.0, completed=progress.share, width=40)
            bar.add_row(f"n = {progress.length}", share, f"{progress.share:4.0%}", _left(progress.seconds_left))
            self._live.update(bar, refresh=True)


def _ratios(measured: Measured, baseline: str) -> str:
    """Return how fast the arms are, for the eye; the report says it with intervals."""
    found = []
    for arm, seconds in measured.seconds.items():
        if arm != baseline:
            ratios = [other / own for own, other in zip(seconds, measured.seconds[baseline], strict=True)]
            found.append(f"{arm} {fixed(median(ratios).value, 2)}x")
    return f"{', '.join(found)} as fast as {baseline}"


def _left(seconds: float) -> str:
    return f"{seconds:.0f} s left" if seconds < 90 else f"{seconds / 60:.0f} min left"

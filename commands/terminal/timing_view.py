"""Progress of timing: a bar with the time left in a terminal, and a line per length."""

from rich.console import Console
from rich.progress_bar import ProgressBar
from rich.table import Table

from analysis.bootstrap import median
from commands.terminal.screen import Screen, time_left
from ledger.timing.record import Measured
from reports.number_format import fixed
from runners.timing.driver import Progress


class TimingView(Screen):
    """Draws between rounds, outside the timed sections."""

    def __init__(self, console: Console, baseline: str) -> None:
        super().__init__(console)
        self._baseline = baseline

    def watch(self, progress: Progress) -> None:
        """Print finished lengths and draw the progress."""
        if progress.finished is not None:
            self.tell(f"n = {progress.length}: {_ratios(progress.finished, self._baseline)}")
        self.draw(lambda: _bar(progress))


def _bar(progress: Progress) -> Table:
    bar = Table.grid(padding=(0, 1))
    share = ProgressBar(total=1.0, completed=progress.share, width=40)
    bar.add_row(f"n = {progress.length}", share, f"{progress.share:4.0%}", time_left(progress.seconds_left))
    return bar


def _ratios(measured: Measured, baseline: str) -> str:
    """Return the relative speeds of the arms, display only; the report has intervals."""
    found = []
    for arm, seconds in measured.seconds.items():
        if arm != baseline:
            ratios = [other / own for own, other in zip(seconds, measured.seconds[baseline], strict=True)]
            found.append(f"{arm} {fixed(median(ratios).value, 2)}x")
    return f"{', '.join(found)} as fast as {baseline}"

"""Output of long-running work: permanent lines, and in a terminal a live drawing below them."""

import time
from collections.abc import Callable
from typing import Self

from rich.console import Console, RenderableType
from rich.live import Live

SECONDS_BETWEEN_DRAWINGS = 0.5


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

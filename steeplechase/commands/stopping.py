"""Stop signals: a run ends at a safe point, with the exit code for resumable runs."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from steeplechase.foundation.errors import StoppedError

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)  # batch queues send SIGUSR1 before a kill


class Stopping:
    """Whether a stop signal has arrived."""

    def __init__(self) -> None:
        self._signalled = self._deferred = False
        self._before = {number: signal.getsignal(number) for number in SIGNALS}

    def listen(self) -> None:
        """Install the handlers, except for signals that were ignored, as SIGHUP under nohup."""
        for number, handler in self._before.items():
            if handler is not signal.SIG_IGN:
                signal.signal(number, self.on_signal)

    def listen_no_more(self) -> None:
        """Restore the previous handlers."""
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def on_signal(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal: stop at once, or at the next safe point if there are any; a second one stops at once."""
        for each, handler in self._before.items():
            if handler is not signal.SIG_IGN:
                signal.signal(each, signal.SIG_DFL)
        self._signalled = True
        if not self._deferred:
            self._stop()

    def at_next_safe_point(self) -> None:
        """Stop at the next safe point, as a signal does; without any, go on."""
        self._signalled = True

    def safe_point(self) -> None:
        """Stop here if a signal has arrived. From now on a signal takes effect at the next safe point."""
        self._deferred = True
        if self._signalled:
            self._stop()

    def no_more_safe_points(self) -> None:
        """Stop here if a signal has arrived. From now on a signal stops at once."""
        self._deferred = False
        if self._signalled:
            self._stop()

    def _stop(self) -> None:
        raise StoppedError("stopped; finished stages are kept, and the same command resumes")


@contextmanager
def stopping() -> Iterator[Stopping]:
    """Turn the first signal into a resumable stop."""
    stop = Stopping()
    stop.listen()
    try:
        yield stop
    finally:
        stop.listen_no_more()

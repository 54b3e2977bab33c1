"""Signals that ask a run to stop: it ends at a safe point, with the exit code that says that it can be carried on."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from foundation.errors import StoppedError

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)  # batch queues send SIGUSR1 ahead of a kill


class Stopping:
    """Whether the run has been asked to stop."""

    def __init__(self) -> None:
        self._asked = self._deferred = False
        self._before = {number: signal.getsignal(number) for number in SIGNALS}

    def listen(self) -> None:
        """Take the signals that were not ignored before, as SIGHUP is under nohup."""
        for number, handler in self._before.items():
            if handler is not signal.SIG_IGN:
                signal.signal(number, self.asked)

    def listen_no_more(self) -> None:
        """Give the signals back."""
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def asked(self, number: int, frame: FrameType | None) -> None:
        """Take a signal: stop now, or at the next safe point where there are any; a second one ends at once."""
        for each, handler in self._before.items():
            if handler is not signal.SIG_IGN:
                signal.signal(each, signal.SIG_DFL)
        self._asked = True
        if not self._deferred:
            self._stop()

    def safe_point(self) -> None:
        """Stop here where that was asked for. From now on a signal waits for the next safe point."""
        self._deferred = True
        if self._asked:
            self._stop()

    def no_more_safe_points(self) -> None:
        """Stop here where that was asked for. From now on a signal stops at once."""
        self._deferred = False
        if self._asked:
            self._stop()

    def _stop(self) -> None:
        raise StoppedError("stopped; everything finished is kept, and the same command carries on")


@contextmanager
def stopping() -> Iterator[Stopping]:
    """Turn the first of the signals into a stop that can be resumed."""
    stop = Stopping()
    stop.listen()
    try:
        yield stop
    finally:
        stop.listen_no_more()

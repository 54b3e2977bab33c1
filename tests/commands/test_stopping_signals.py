"""A signal waits for a safe point where there are any, and a second one ends the process at once."""

import signal
import subprocess
import sys

import pytest

from commands.stopping import SIGNALS, stopping
from foundation.errors import StoppedError
from tests.factories.command_calls import ROOT

DURING = """
import os, signal, sys
from commands.stopping import stopping
from foundation.errors import StoppedError
number = int(sys.argv[1])
try:
    with stopping() as stop:
        stop.safe_point()
        os.kill(os.getpid(), number)
        print("still here", flush=True)
        if sys.argv[2] == "twice":
            os.kill(os.getpid(), number)
        stop.safe_point()
        print("too far", flush=True)
except StoppedError:
    print("stopped", flush=True)
"""


def during(number: signal.Signals, times: str) -> tuple[int, list[str]]:
    command = [sys.executable, "-c", DURING, str(int(number)), times]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, done.stdout.splitlines()


@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_a_signal_stops_at_the_next_safe_point_and_a_second_one_at_once(number: signal.Signals) -> None:
    assert during(number, "once") == (0, ["still here", "stopped"])
    assert during(number, "twice") == (-number, ["still here"])


def stopped_behind(number: signal.Signals, *, last: bool) -> None:
    """Send a signal behind the last safe point, or before that is known."""
    with stopping() as stop:
        stop.safe_point()
        if last:
            stop.no_more_safe_points()
        signal.raise_signal(number)
        stop.no_more_safe_points()


@pytest.mark.parametrize("last", [True, False], ids=["behind the last safe point", "between two"])
@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_a_signal_is_never_forgotten_and_handlers_are_given_back(number: signal.Signals, last: bool) -> None:
    before = [signal.getsignal(each) for each in SIGNALS]
    with pytest.raises(StoppedError):
        stopped_behind(number, last=last)
    assert [signal.getsignal(each) for each in SIGNALS] == before


def test_a_hangup_that_was_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stopping() as stop:
            signal.raise_signal(signal.SIGHUP)
            stop.safe_point()
    finally:
        signal.signal(signal.SIGHUP, before)

"""The two ends that Ray's process and the driver share: what the host is asked, and its questions to the driver."""

import json
import os
import queue
import signal
import sys
import threading
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TextIO


@dataclass(frozen=True)
class Hosting:
    """What the host is told on its command line, as JSON."""

    workers: int
    address: str | None
    """A cluster's address; None starts Ray on this machine."""
    scratch: str
    """A folder for what Ray and Tune write; on a cluster inside the results folder."""
    token: str
    """What the file `visible` holds."""

    @property
    def visible(self) -> Path:
        """The file that every node must see."""
        return Path(self.scratch, "visible")

    def as_text(self) -> str:
        """Return it as JSON."""
        return json.dumps(asdict(self))


class Driver:
    """The driver at the other end of the pipes; it answers one question at a time."""

    def __init__(self, questions: TextIO) -> None:
        self._questions = questions
        self._answers: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def __getstate__(self) -> dict[str, Any]:
        """Give nothing to a pickle: Tune writes one of itself, which is never read."""
        return {}

    def ask(self, question: str, *values: Any) -> Any:
        """Return the driver's answer."""
        self._questions.write(json.dumps([question, *values]) + "\n")
        self._questions.flush()
        return json.loads(self._answers.get())

    def _listen(self) -> None:
        for line in sys.stdin:
            self._answers.put(line)
        end_session(os.getpid())  # the driver is gone or has stopped: Ray's processes end with this one
        os._exit(0)


def end_session(leader: int) -> None:
    """End the processes of a session, its leader aside, where the system lists them."""
    for status in Path("/proc").glob("[0-9]*/stat"):
        process = int(status.parent.name)
        with suppress(OSError):  # it has ended meanwhile, or is another user's
            _, _, _, session, *_ = status.read_text().rpartition(")")[2].split()
            if int(session) == leader != process:
                os.kill(process, signal.SIGKILL)

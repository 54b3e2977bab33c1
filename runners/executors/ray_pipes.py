"""Protocol between Ray's host process and the driver: the host's settings, and its requests to the driver."""

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
    """Settings of the host process, passed on its command line as JSON."""

    workers: int
    address: str | None
    """A cluster's address; None starts Ray on this machine."""
    scratch: str
    """Folder for files of Ray and Tune; on a cluster inside the results folder."""
    token: str
    """Content of the file `visible`."""
    gpus_per_trial: float | None = None
    """A fraction or a whole number; None shares the GPUs between the workers."""
    trains_on_gpu: bool = False
    """Whether arms declare a GPU as their device."""
    objects: str = ""
    """URL of the object store that has the stages, in place of a folder that every node sees."""

    @property
    def visible(self) -> Path:
        """A file that every node must be able to read, unless the stages are in an object store."""
        return Path(self.scratch, "visible")

    def as_text(self) -> str:
        """Return the settings as JSON."""
        return json.dumps(asdict(self))


class Driver:
    """The driver, as the host sees it: answers one request at a time."""

    def __init__(self, requests: TextIO) -> None:
        self._requests = requests
        self._answers: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def __getstate__(self) -> dict[str, Any]:
        """Return an empty state: Tune pickles its objects, and the pickle is never read."""
        return {}

    def ask(self, request: str, *values: Any) -> Any:
        """Send a request and return the driver's answer."""
        self._requests.write(json.dumps([request, *values]) + "\n")
        self._requests.flush()
        return json.loads(self._answers.get())

    def _listen(self) -> None:
        for line in sys.stdin:
            self._answers.put(line)
        end_session(os.getpid())  # the driver has ended; so do Ray's processes
        os._exit(0)


def end_session(leader: int) -> None:
    """Kill the processes of a session except its leader, if the system has /proc."""
    for status in Path("/proc").glob("[0-9]*/stat"):
        process = int(status.parent.name)
        with suppress(OSError):  # ended meanwhile, or owned by another user
            _, _, _, session, *_ = status.read_text().rpartition(")")[2].split()
            if int(session) == leader != process:
                os.kill(process, signal.SIGKILL)

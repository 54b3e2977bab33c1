"""What a command may not do with a stranger's file: write outside, read a secret, connect, start or run code."""

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

WRITES = {
    "os.mkdir": 0,
    "os.rename": 1,
    "os.symlink": 1,
    "os.link": 1,
    "os.remove": 0,
    "os.rmdir": 0,
    "os.truncate": 0,
}
"""Events of Python's audit hooks, and which of their arguments is the path written."""
STARTS = ("os.system", "os.exec", "os.posix_spawn", "subprocess.Popen", "pty.spawn", "pickle.find_class")
OWN = ("runners.count_module", "runners.executors.worker", "'--version'", "operators")
"""What a command of this project starts: its modules, and the compiler of its operators."""
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


def watch(case: Path, allowed: tuple[Path, ...], report: Path, tracking_port: int) -> None:
    """From now on append to the report what this process and its forks do that a file must not cause."""
    inside = tuple(str(path.resolve()) for path in (*allowed, Path("/dev"), Path("/proc")))
    place, secret, is_busy = str(case.resolve()), str(case.parent.resolve() / "secret"), [False]

    def fault(name: str, given: tuple[Any, ...]) -> bool:
        if name == "open":
            real = os.path.realpath(os.fsdecode(given[0]))
            return real == secret or (bool(given[2] & WRITING) and not real.startswith(inside))
        if name in WRITES:
            parent, last = os.path.split(os.fsdecode(given[WRITES[name]]))
            relative_to_descriptor = any(isinstance(each, int) and each > 2 for each in given[1:])
            return not relative_to_descriptor and not f"{os.path.realpath(parent)}/{last}".startswith(inside)
        if name == "exec":
            return bool(given[0].co_filename.startswith(place))
        if name == "socket.connect":
            return bool(given[1][:2] != ("127.0.0.1", tracking_port))
        return name in STARTS and not any(own in str(given[:2]) for own in OWN)

    def hook(name: str, given: tuple[Any, ...]) -> None:
        if is_busy[0]:
            return
        is_busy[0] = True
        with suppress(Exception):  # descriptors in place of paths, and what else has no name
            if fault(name, given):
                with report.open("a") as file:
                    file.write(f"{name} {str(given[:2])[:200]}\n")
        is_busy[0] = False

    sys.addaudithook(hook)

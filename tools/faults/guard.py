"""What a command may not do with a stranger's file: write outside, read a secret, connect, start or run code."""

import os
import resource
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from tools.faults.layer import SCRATCH
from tools.faults.warm import LOG

MORE_MEMORY = 3 * 2**30
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
STARTS = ("os.system", "os.exec", "os.posix_spawn", "subprocess.Popen", "pickle.find_class", "socket.connect")
CARDS = "['nvidia-smi', '--query-gpu=name', '--format=csv,noheader,nounits']"
OWN = ("runners.count_module", "runners.executors.worker", "'--version'", "operators", "('127.0.0.1', 9)", CARDS)
"""What a command of this project starts: its modules, the compiler of operators, the tracking server not there, the
program that names the machine's GPUs."""


def guard(place: Path, report: Path) -> None:
    """Limit memory; from now on report what this process and its forks do that a file must not cause."""
    sys.dont_write_bytecode = True  # of a library that is imported here for the first time
    own = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (own + MORE_MEMORY, own + MORE_MEMORY))
    allowed = (place / "case", place / "made", place / "home", SCRATCH / "temporary", LOG, "/dev/null", "/proc")
    inside, is_busy = tuple(os.path.realpath(path) for path in allowed), [False]

    def is_fault(name: str, given: tuple[Any, ...]) -> bool:
        if name == "open":
            real = os.path.realpath(os.fsdecode(given[0]))
            is_writing = given[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC)
            return real == str(place / "secret") or bool(is_writing and not real.startswith(inside))
        if name in WRITES:
            if any(isinstance(each, int) and each > 2 for each in given[1:]):  # relative to a descriptor
                return False
            parent, last = os.path.split(os.fsdecode(given[WRITES[name]]))
            return not f"{os.path.realpath(parent)}/{last}".startswith(inside)
        if name == "exec":
            return bool(given[0].co_filename.startswith(str(place)))
        return name in STARTS and not any(own in str(given) for own in OWN)

    def hook(name: str, given: tuple[Any, ...]) -> None:
        if not is_busy[0]:
            is_busy[0] = True
            with suppress(Exception):  # descriptors in place of paths, and what else has no name
                if is_fault(name, given):
                    with report.open("a") as file:
                        file.write(f"{name} {str(given[:2])[:200]}\n")
            is_busy[0] = False

    sys.addaudithook(hook)

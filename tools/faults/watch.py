"""What a command may not do with a stranger's file: write or read outside, send requests, run code. An audit hook."""

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

WRITES = {  # the position of the path that each event writes
    "os.mkdir": 0, "os.rename": 1, "os.symlink": 1, "os.link": 1, "os.remove": 0, "os.rmdir": 0, "os.truncate": 0,
    "os.chmod": 0, "shutil.rmtree": 0,
}  # fmt: skip
STARTS = ("os.system", "os.exec", "os.posix_spawn", "subprocess.Popen", "pty.spawn", "pickle.find_class")
OWN = ("runners.count_module", "runners.executors.worker")
"""Modules of this project that a command starts as processes."""


def watch(case: Path, allowed: tuple[Path, ...], report: Path, silent_port: int) -> None:
    """From now on append to the report what this process and its forks do that a file must not cause.

    Writes are allowed below `allowed`; nothing may be read from the file `secret` beside the case, no code of the case
    be run, and no request be sent but to the tracking server's port.
    """
    inside = tuple(str(path.resolve()) for path in (*allowed, Path("/dev"), Path("/proc")))
    place, secret, is_busy = str(case.resolve()), str(case.parent.resolve() / "secret"), [False]

    def event(name: str, arguments: tuple[Any, ...]) -> str | None:
        if name == "open":
            path, mode, flags = arguments
            if not isinstance(path, (str, bytes)):
                return None
            is_write = bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC)) or any(c in (mode or "") for c in "wax+")
            real = os.path.realpath(os.fsdecode(path))
            if is_write and not real.startswith(inside):
                return f"wrote {real}"
            return f"read {real}" if real == secret else None
        if name in WRITES:
            path = arguments[WRITES[name]]
            if not isinstance(path, (str, bytes, os.PathLike)) or arguments[-1] not in (-1, None) and name == "os.rename":
                return None
            parent, last = os.path.split(os.fsdecode(path))
            real = os.path.join(os.path.realpath(parent), last)  # noqa: PTH118
            return None if real.startswith(inside) else f"{name} {real}"
        if name == "socket.connect" and arguments[1][:2] != ("127.0.0.1", silent_port):
            return f"connected to {arguments[1]}"
        if name in STARTS and not any(own in str(arguments) for own in OWN):
            return f"{name} {arguments[:2]}"
        if name == "exec" and getattr(arguments[0], "co_filename", "").startswith(place):
            return f"ran {arguments[0].co_filename}"
        return None

    def hook(name: str, arguments: tuple[Any, ...]) -> None:
        if is_busy[0]:
            return
        is_busy[0] = True
        try:
            with suppress(Exception):
                if (told := event(name, arguments)) is not None:
                    with report.open("a") as file:
                        file.write(f"{told}\n")
        finally:
            is_busy[0] = False

    sys.addaudithook(hook)

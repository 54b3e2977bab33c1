"""Counts of a module that a factory builds: by a child process, because declarations import no torch.

In a process that has imported torch already, it counts itself.
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from importlib import import_module
from threading import Event, Timer
from typing import IO

from search_space.module_factories import PACKAGES, refusal
from steeplechase.foundation.child_process import import_path, module_command
from steeplechase.foundation.errors import ConfigurationError
from steeplechase.foundation.schema import cached_until_options_change

COUNTING = "runners.count_module"
"""The module that builds and counts, above this layer and thus named, not imported."""
PLUGINS: list[tuple[str, str]] = []
"""Folder and sha256 of the plugins that the child process loads; the plugin loader keeps it."""
LONGEST_SECONDS = 120.0
"""For an answer; the first one includes the import of torch."""
_CHILD: list["subprocess.Popen[str]"] = []


class ModuleFault(ConfigurationError):
    """A module cannot be built or counted; one line for the user."""


@dataclass(frozen=True)
class Counts:
    """What was counted on the built module."""

    parameters: int
    """An output table for masked language modelling included, if the module has no token embeddings."""
    forward_flops: int
    """By torch's counter, of one sequence of the length that was asked for."""
    saved_activations: int
    """Values per token kept for the backward pass."""
    width: int
    embedding_width: int | None
    """Channels of the module's token embeddings; None without any."""
    token_embeddings: int | None
    """Number of token embeddings; None where the module has no such table."""


@cached_until_options_change
def counted(factory: str, architecture: str, length: int) -> Counts:
    """Return the counts of an architecture, given as JSON, on a sequence. Raises ModuleFault.

    Nothing is imported for a factory that is not allowed.
    """
    if reason := refusal(factory):
        raise ModuleFault(reason)
    if "torch" in sys.modules:
        answer = import_module(COUNTING).answer(architecture, length)
    else:
        answer = _asked({"factory": factory, "architecture": architecture, "length": length})
    if "error" in answer:
        raise ModuleFault(str(answer["error"]))
    return Counts(**answer)


def _asked(request: dict[str, object]) -> dict[str, object]:
    """Return the child's answer to a request; it starts with the first one and ends with this process.

    Raises ModuleFault if it ends without an answer, or has none in time.
    """
    if not _CHILD or _CHILD[0].poll() is not None:
        environment = {**os.environ, **import_path(), "OMP_NUM_THREADS": "1"}
        command = module_command(COUNTING)
        _CHILD[:] = [
            subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, bufsize=1
            )
        ]
    (child,) = _CHILD
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write(json.dumps({**request, "plugins": PLUGINS, "packages": PACKAGES}) + "\n")
    line = _line_in_time(child, child.stdout)
    if line is None:
        raise ModuleFault(
            f"{request['factory']}: not built and counted in {LONGEST_SECONDS:g} s; its code may not end"
        )
    if not line:
        raise ModuleFault(f"the process that builds the module ended with code {child.wait()}")
    answer: dict[str, object] = json.loads(line)
    return answer


def _line_in_time(child: "subprocess.Popen[str]", lines: IO[str]) -> str | None:
    """Return the next line of a process, empty if that ended; None if it had to be killed, since it took too long."""
    late = Event()

    def end() -> None:
        late.set()
        child.kill()

    limit = Timer(LONGEST_SECONDS, end)
    limit.start()
    line = lines.readline()
    limit.cancel()
    return None if late.is_set() and not line else line

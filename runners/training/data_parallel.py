"""Data-parallel training: each process computes a part of every batch, and their gradients are added (all-reduce).

Synchronous data parallelism (Li et al. 2020, arXiv 2006.15704) with torch's own process groups: gloo, or nccl where
every process has a GPU of its own. All processes are on one machine and end with the first.
"""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Protocol

import torch
from torch import Tensor, distributed, nn

from steeplechase.foundation.child_process import PARTNER_DIED_CODE, PartnerDied, import_path, module_command
from steeplechase.foundation.scratch import scratch_folder

LONGEST_WAIT = timedelta(hours=12)  # the first process measures the held-out loss while the others wait
READY = "ready"
SECONDS_BETWEEN_LOOKS, SECONDS_TO_NOTICE = 1.0, 20.0


class Group(Protocol):
    """The processes that train one model."""

    rank: int
    size: int

    def add_gradients(self, model: nn.Module) -> None:
        """Replace every gradient by the sum over the processes."""

    def total(self, values: Tensor) -> Tensor:
        """Return the sum of the values over the processes."""


class Alone:
    """One process."""

    rank, size = 0, 1

    def add_gradients(self, model: nn.Module) -> None:
        """Do nothing: the gradients are those of the whole batch."""

    def total(self, values: Tensor) -> Tensor:
        """Return the values as they are: one process has all of them."""
        return values


ALONE = Alone()


class Processes:
    """Several processes, joined by torch.distributed."""

    def __init__(self, rank: int, size: int, host: distributed.ProcessGroup | None = None) -> None:
        self.rank, self.size, self._host = rank, size, host

    def add_gradients(self, model: nn.Module) -> None:
        """Replace every gradient by the sum over the processes; one that no process has stays absent."""
        parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        counts = self.total(torch.tensor([float(each.grad is not None) for each in parameters]), self._host)
        used = [parameter for parameter, count in zip(parameters, counts.tolist(), strict=True) if count]
        parts = [torch.zeros_like(each) if each.grad is None else each.grad for each in used]
        whole = self.total(torch.cat([part.reshape(-1) for part in parts]))
        for parameter, part in zip(used, whole.split([part.numel() for part in parts]), strict=True):
            parameter.grad = part.view_as(parameter)

    def total(self, values: Tensor, among: distributed.ProcessGroup | None = None) -> Tensor:
        """Return the sum of the values over the processes, the same bits in each. Raises PartnerDied."""
        summed = values.clone()
        try:
            distributed.all_reduce(summed, group=among)
        except RuntimeError as error:
            raise PartnerDied(str(error).partition("\n")[0]) from error
        return summed


@contextmanager
def group_of(size: int, module: str, job: str, cuda: bool) -> Iterator[Group]:
    """Yield this process's group of `size`, after starting the other processes; they end with the context.

    Each runs `module` with the job, its rank, the size and the file of the rendezvous. Raises PartnerDied.
    """
    if size == 1:
        yield ALONE
        return
    with scratch_folder() as folder:
        meeting = folder / "meeting"
        partners = [
            _Partner(module_command(module, job, str(rank), str(size), str(meeting))) for rank in range(1, size)
        ]
        ended = threading.Event()
        try:
            for partner in partners:
                partner.wait_until_ready()
            threading.Thread(target=_end_with_partners, args=(partners, ended), daemon=True).start()
            with joined(0, size, meeting, cuda) as group:
                yield group
        finally:
            ended.set()
            for partner in partners:
                partner.end()


def _end_with_partners(partners: list["_Partner"], ended: threading.Event) -> None:
    """End this process some time after a partner has died, unless the group has ended by then.

    gloo raises at once; nccl waits on the device, and this process with it, until the longest wait is over.
    """
    while not ended.wait(SECONDS_BETWEEN_LOOKS):
        if any(partner.died for partner in partners) and not ended.wait(SECONDS_TO_NOTICE):
            sys.stderr.write("a process of the group died\n")
            sys.stderr.flush()
            os._exit(PARTNER_DIED_CODE)  # the stage is repeated


@contextmanager
def joined(rank: int, size: int, meeting: Path, cuda: bool) -> Iterator[Group]:
    """Join the group whose processes meet at a file."""
    loopback = "lo0" if sys.platform == "darwin" else "lo"
    os.environ.setdefault("GLOO_SOCKET_IFNAME", loopback)  # a host name that resolves to nothing would end it
    own_gpus = cuda and torch.cuda.device_count() >= size
    backend = "nccl" if own_gpus else "gloo"
    try:
        distributed.init_process_group(backend, f"file://{meeting}", timeout=LONGEST_WAIT, rank=rank, world_size=size)
    except RuntimeError as error:
        raise PartnerDied(str(error).partition("\n")[0]) from error
    try:
        host = distributed.new_group(backend="gloo", timeout=LONGEST_WAIT) if backend == "nccl" else None
        yield Processes(rank, size, host)
    finally:
        with suppress(RuntimeError):
            distributed.destroy_process_group()


class _Partner:
    """Another process of the group, as the first one sees it; it ends when its input is closed."""

    def __init__(self, command: list[str]) -> None:
        environment: Mapping[str, str] = {**os.environ, **import_path()}
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment)

    def wait_until_ready(self) -> None:
        assert self._process.stdout is not None
        if self._process.stdout.readline().strip() != READY:
            raise PartnerDied(f"a process of the group ended with code {self._process.wait()}")

    @property
    def died(self) -> bool:
        """Whether it has ended otherwise than after its last update."""
        return self._process.poll() not in {None, 0}

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()

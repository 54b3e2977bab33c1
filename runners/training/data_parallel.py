"""Data-parallel training: each process computes a part of every batch, and their gradients are added (all-reduce).

Synchronous data parallelism (Li et al. 2020, arXiv 2006.15704) with torch's own process groups: gloo, or nccl where
every process has a GPU of its own: there the sums of some gradients overlap with the computation of the others. All
processes are on one machine and end with the first.
"""

import os
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor, distributed, nn
from torch.nn.parallel import DistributedDataParallel

from steeplechase.foundation.child_process import PARTNER_DIED_CODE, PartnerDied, import_path, module_command
from steeplechase.foundation.scratch import scratch_folder
from steeplechase.tasks.objectives.pretraining_model import PretrainingModel

LONGEST_WAIT = timedelta(hours=12)  # the first process measures the held-out loss while the others wait
READY = "ready"
SECONDS_BETWEEN_LOOKS, SECONDS_TO_NOTICE = 1.0, 20.0


Shares = Callable[..., tuple[Tensor, ...]]
"""What `PretrainingModel.shares` is: the terms of the loss of a micro-batch."""


class Group(Protocol):
    """The processes that train one model."""

    rank: int
    size: int
    overlaps: bool
    """Whether gradients are summed during the backward pass, each as soon as it is there."""

    def shares_of(self, model: PretrainingModel[Any], last: bool) -> Shares:
        """Return what computes the terms of a micro-batch, the `last` of an update or another."""

    def add_gradients(self, model: nn.Module) -> None:
        """Replace every gradient by the sum over the processes."""

    def total(self, values: Tensor) -> Tensor:
        """Return the sum of the values over the processes."""


class Alone:
    """One process."""

    rank, size, overlaps = 0, 1, False

    def shares_of(self, model: PretrainingModel[Any], last: bool) -> Shares:
        """Return the model's own function."""
        return model.shares

    def add_gradients(self, model: nn.Module) -> None:
        """Do nothing: the gradients are those of the whole batch."""

    def total(self, values: Tensor) -> Tensor:
        """Return the values as they are: one process has all of them."""
        return values


ALONE = Alone()


class Processes:
    """Several processes, joined by torch.distributed."""

    overlaps = False

    def __init__(self, rank: int, size: int) -> None:
        self.rank, self.size = rank, size

    def shares_of(self, model: PretrainingModel[Any], last: bool) -> Shares:
        """Return the model's own function."""
        return model.shares

    def add_gradients(self, model: nn.Module) -> None:
        """Replace every gradient by the sum over the processes; one that no process has stays absent."""
        parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        counts = self.total(torch.tensor([float(each.grad is not None) for each in parameters]))
        used = [parameter for parameter, count in zip(parameters, counts.tolist(), strict=True) if count]
        parts = [torch.zeros_like(each) if each.grad is None else each.grad for each in used]
        whole = self.total(torch.cat([part.reshape(-1) for part in parts]))
        for parameter, part in zip(used, whole.split([part.numel() for part in parts]), strict=True):
            parameter.grad = part.view_as(parameter)

    def total(self, values: Tensor) -> Tensor:
        """Return the sum of the values over the processes, the same bits in each. Raises PartnerDied."""
        summed = values.clone()
        try:
            distributed.all_reduce(summed)
        except RuntimeError as error:
            raise PartnerDied(str(error).partition("\n")[0]) from error
        return summed


class Overlapping(Processes):
    """Processes with a device each: torch's DistributedDataParallel sums gradients bucket by bucket, as they come.

    Buckets are the same in every update and hold all parameters, so that a resumed training adds in the same order.
    A parameter that no process has used is found without waiting for the device.
    """

    overlaps = True

    def __init__(self, rank: int, size: int, bucket_megabytes: float | None = None) -> None:
        super().__init__(rank, size)
        self._bucket_megabytes = bucket_megabytes
        self._shared: DistributedDataParallel | None = None

    def shares_of(self, model: PretrainingModel[Any], last: bool) -> Shares:
        """Return the model's function, after whose `last` call of an update the backward pass adds gradients."""
        if self._shared is None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FutureWarning)  # what is to replace `broadcast_buffers` cannot yet
                self._shared = DistributedDataParallel(
                    _Shares(model),
                    broadcast_buffers=False,  # segments before those of a process's own rows
                    init_sync=False,
                    find_unused_parameters=True,
                    gradient_as_bucket_view=True,
                    bucket_cap_mb=self._bucket_megabytes,
                )
            self._shared.register_comm_hook(None, _sum)
        self._shared.require_backward_grad_sync = last
        return self._shared

    def add_gradients(self, model: nn.Module) -> None:
        """Do nothing: the backward pass has added them."""


class _Shares(nn.Module):
    """The terms of the loss as the forward pass of a module."""

    def __init__(self, model: PretrainingModel[Any]) -> None:
        super().__init__()
        self.model = model

    def forward(self, *inputs: Any) -> tuple[Tensor, ...]:
        return self.model.shares(*inputs)


def _sum(_: object, bucket: distributed.GradBucket) -> torch.futures.Future[Tensor]:  # type: ignore[name-defined]
    """Add a bucket's gradients; torch's own hook would divide them by the number of processes."""
    work = distributed.all_reduce(bucket.buffer(), async_op=True)
    return work.get_future().then(lambda done: done.value()[0])  # type: ignore[no-any-return]


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
    """Join the group whose processes meet at a file. Raises PartnerDied, also for what is raised inside."""
    loopback = "lo0" if sys.platform == "darwin" else "lo"
    os.environ.setdefault("GLOO_SOCKET_IFNAME", loopback)  # a host name that resolves to nothing would end it
    own_gpus = cuda and torch.cuda.device_count() >= size
    backend = "nccl" if own_gpus else "gloo"
    try:
        distributed.init_process_group(backend, f"file://{meeting}", timeout=LONGEST_WAIT, rank=rank, world_size=size)
    except RuntimeError as error:
        raise PartnerDied(str(error).partition("\n")[0]) from error
    try:
        yield Overlapping(rank, size) if own_gpus else Processes(rank, size)
    except distributed.DistBackendError as error:  # of a sum within a backward pass
        raise PartnerDied(str(error).partition("\n")[0]) from error
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

"""Data-parallel training: several processes have the losses of one, and a dead one repeats the stage."""

import signal
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import Pipe, get_context
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Barrier, Event, Thread
from typing import Any, cast

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.distributed import DistBackendError, GradBucket

from runners.training import data_parallel
from runners.training.data_parallel import Overlapping, Processes, joined
from runners.training.loop import train
from search_space.candidate import Candidate
from search_space.objective.language_model import LanguageModel
from search_space.objective.masked_language_model import MaskedLanguageModel
from steeplechase.foundation.child_process import PARTNER_DIED_CODE, PartnerDied
from tests.factories.small_experiments import SPAN_DYNAMIC, candidate
from tests.factories.training_data import Run

UPDATES = 3
DETERMINED = [MaskedLanguageModel(), LanguageModel()]
"""Objectives whose loss draws nothing."""


@dataclass
class Meeting:
    """What the threads of a group add up."""

    barrier: Barrier
    parts: dict[int, Tensor]


class Threads(Processes):
    """A group of threads in place of processes."""

    def __init__(self, rank: int, meeting: Meeting) -> None:
        super().__init__(rank, meeting.barrier.parties)
        self._meeting = meeting

    def total(self, values: Tensor) -> Tensor:
        self._meeting.parts[self.rank] = values
        self._meeting.barrier.wait(30)
        whole = torch.stack([self._meeting.parts[rank] for rank in range(self.size)]).sum(0)
        self._meeting.barrier.wait(30)
        return whole


def trained_together(learner: Candidate, size: int) -> list[Run]:
    """Return the runs of a group's members after some updates."""
    runs, meeting = [Run.started(learner) for _ in range(size)], Meeting(Barrier(size), {})

    def work(rank: int) -> None:
        run = runs[rank]
        train(
            run.model,
            run.lesson,
            run.optimiser,
            range(UPDATES),
            lambda step: run.losses.append(step.loss),
            Threads(rank, meeting),
        )

    threads = [Thread(target=work, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return runs


@pytest.mark.parametrize("objective", DETERMINED, ids=lambda objective: objective.kind)
def test_members_have_the_losses_of_one_process_and_equal_weights(objective: MaskedLanguageModel) -> None:
    learner = candidate(SPAN_DYNAMIC, objective, 0.0)
    alone = Run.started(learner).train(0, UPDATES)
    together = trained_together(learner, 2)
    for member in together:
        assert member.losses == pytest.approx(alone.losses, abs=1e-6)
    first, second = together
    assert all(torch.equal(weight, second.state()[name]) for name, weight in first.state().items())


def test_a_gradient_that_no_member_has_stays_absent_and_one_that_some_have_is_added() -> None:
    models = [nn.ModuleDict({"used": nn.Linear(2, 1), "spare": nn.Linear(2, 1)}) for _ in range(2)]
    meeting = Meeting(Barrier(2), {})
    models[0]["used"].weight.grad = torch.tensor([[1.0, 2.0]])
    models[1]["used"].weight.grad = torch.tensor([[3.0, 4.0]])
    models[1]["used"].bias.grad = torch.tensor([5.0])
    members = [Thread(target=Threads(rank, meeting).add_gradients, args=(models[rank],)) for rank in range(2)]
    for member in members:
        member.start()
    for member in members:
        member.join(30)
    for model in models:
        assert model["used"].weight.grad.tolist() == [[4.0, 6.0]]
        assert model["used"].bias.grad.tolist() == [5.0]
        assert model["spare"].weight.grad is None


class Toy(nn.Module):
    """A stack of maps, the last of which is used by the first micro-batch of the first member alone, and a spare."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.stack = nn.ModuleList(nn.Linear(2, 2) for _ in range(3))
        self.spare = nn.Linear(2, 2)

    def shares(self, x: Tensor, maps: int) -> tuple[Tensor, ...]:
        for each in self.stack[:maps]:
            x = each(x)
        return (x.sum(),)


def overlapping(rank: int, meeting: Path, told: Connection) -> None:
    """Tell the gradients of two micro-batches, and what was done in the backward pass of the last, in order."""
    order, summed = list[str](), data_parallel._sum

    def noted(state: object, bucket: GradBucket) -> torch.futures.Future[Tensor]:
        order.append("sum")
        return summed(state, bucket)

    with joined(rank, 2, meeting, False), pytest.MonkeyPatch.context() as patch:
        patch.setattr(data_parallel, "_sum", noted)
        group, model = Overlapping(rank, 2, bucket_megabytes=1e-6), cast(Any, Toy())
        for number, maps in ((0, 2 if rank else 3), (1, 2)):
            (loss,) = group.shares_of(model, last=number == 1)(torch.tensor([1.0 + rank, number]), maps)
            if number:
                model.stack[0].weight.register_hook(lambda _: order.append("gradient of the first map"))
            loss.backward()
        told.send(([None if each.grad is None else each.grad.tolist() for each in model.parameters()], order))


def test_gradients_of_devices_are_summed_while_others_are_computed_and_equal_those_of_one(tmp_path: Path) -> None:
    """A gradient that one member has in one micro-batch is added; one that no member has stays absent."""
    expected = Toy()
    for maps, x in ((3, (1.0, 0.0)), (2, (1.0, 1.0)), (2, (2.0, 0.0)), (2, (2.0, 1.0))):
        expected.shares(torch.tensor(x), maps)[0].backward()
    for gradients, order in told_by_two(overlapping, tmp_path / "meeting"):
        for mine, each in zip(gradients, expected.parameters(), strict=True):
            assert (mine is each.grad) if each.grad is None else np.allclose(mine, each.grad)
        assert 0 < order.index("gradient of the first map") < len(order) - 1


def told_by_two(work: Callable[[int, Path, Connection], None], meeting: Path) -> list[Any]:
    processes, (here, told) = get_context("fork"), Pipe(duplex=False)
    members = [processes.Process(target=work, args=(rank, meeting, told)) for rank in range(2)]
    for each in members:
        each.start()
    try:
        return [here.poll(60) and here.recv() for _ in members]
    finally:
        for each in members:
            each.kill()
            each.join()


def test_a_process_ends_some_time_after_a_partner_has_died(monkeypatch: pytest.MonkeyPatch) -> None:
    """nccl would wait for it on the device for hours."""
    monkeypatch.setattr(data_parallel, "SECONDS_BETWEEN_LOOKS", 0.01)
    monkeypatch.setattr(data_parallel, "SECONDS_TO_NOTICE", 0.1)
    ended = get_context("fork").Process(target=data_parallel._end_with_partners, args=([Dead()], Event()))
    ended.start()
    ended.join(30)
    assert ended.exitcode == PARTNER_DIED_CODE


class Dead:
    """A partner that has died."""

    died = True


def test_a_sum_that_fails_within_a_backward_pass_is_the_death_of_a_partner(tmp_path: Path) -> None:
    with pytest.raises(PartnerDied, match="connection closed"), joined(0, 1, tmp_path / "meeting", False):
        raise DistBackendError("connection closed\nmore")


def member(rank: int, meeting: Path, told: Connection) -> None:
    """Tell the sum over two processes, then wait: the first for another sum, the second for its end."""
    with joined(rank, 2, meeting, False) as group:
        told.send(group.total(torch.tensor([1.0 + rank])).item())
        if rank == 1:
            signal.pause()
        try:
            group.total(torch.ones(1))
        except PartnerDied:
            told.send("partner died")


def test_processes_add_up_and_notice_the_death_of_another(tmp_path: Path) -> None:
    processes, (here, told) = get_context("fork"), Pipe(duplex=False)
    members = [processes.Process(target=member, args=(rank, tmp_path / "meeting", told)) for rank in range(2)]
    for each in members:
        each.start()
    try:
        assert [here.poll(60) and here.recv() for _ in members] == [3.0, 3.0]
        members[1].kill()
        assert here.poll(60)
        assert here.recv() == "partner died"
    finally:
        for each in members:
            each.kill()
            each.join()

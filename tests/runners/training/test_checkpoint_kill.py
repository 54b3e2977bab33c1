"""A checkpoint whose writer is killed is there whole, or it is not there: it never keeps a stage from going on."""

import os
import random
import signal
import time
from itertools import count
from pathlib import Path

import torch
from torch import nn

from foundation.atomic_files import remove_directory
from runners.training.checkpoint import load_checkpoint, save_checkpoint


def learner() -> tuple[nn.Linear, torch.optim.AdamW]:
    model = nn.Linear(64, 64)
    return model, torch.optim.AdamW(model.parameters())


def save_forever(folder: Path) -> None:
    model, optimiser = learner()
    for step in count():
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.fill_(step)
        save_checkpoint(folder, model, optimiser, {"step": step})
        if step % 3 == 2:
            remove_directory(folder)


def killed_after(folder: Path, seconds: float) -> None:
    """Let a process save and drop checkpoints for so long."""
    child = os.fork()
    if child == 0:
        try:
            save_forever(folder)
        finally:
            os._exit(1)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    assert os.WIFSIGNALED(os.waitpid(child, 0)[1])


def test_killed_while_it_is_written_or_dropped_a_checkpoint_is_whole_or_not_there(tmp_path: Path) -> None:
    learner()  # the first optimiser of a process imports for seconds
    chance, whole = random.Random(20261121), 0
    for _ in range(10):
        killed_after(tmp_path / "resume", chance.uniform(0.1, 0.5))
        if (tmp_path / "resume").is_dir():
            model, optimiser = learner()
            place = load_checkpoint(tmp_path / "resume", model, optimiser)
            assert {float(value) for value in model.bias.detach()} == {float(str(place["step"]))}
            whole += 1
    assert whole > 0

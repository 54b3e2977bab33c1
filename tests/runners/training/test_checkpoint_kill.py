"""A checkpoint is atomic: after its writer is killed it is complete or absent, so a stage can always resume."""

import os
import random
import signal
import time
from itertools import count
from pathlib import Path

import torch
from torch import nn

from runners.training.checkpoint import load_checkpoint, save_checkpoint
from steeplechase.foundation.atomic_files import remove_directory


def model_and_optimiser() -> tuple[nn.Linear, torch.optim.AdamW]:
    model = nn.Linear(64, 64)
    return model, torch.optim.AdamW(model.parameters())


def save_forever(folder: Path) -> None:
    model, optimiser = model_and_optimiser()
    for step in count():
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.fill_(step)
        save_checkpoint(folder, model, optimiser, {"step": step})
        if step % 3 == 2:
            remove_directory(folder)


def killed_after(folder: Path, seconds: float) -> None:
    """Kill a process that saves and removes checkpoints after some seconds."""
    child = os.fork()
    if child == 0:
        try:
            save_forever(folder)
        finally:
            os._exit(1)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    assert os.WIFSIGNALED(os.waitpid(child, 0)[1])


def test_a_checkpoint_is_complete_or_absent_after_a_kill(tmp_path: Path) -> None:
    model_and_optimiser()  # the first optimiser of a process imports for seconds
    generator, complete = random.Random(20261121), 0
    for _ in range(10):
        killed_after(tmp_path / "resume", generator.uniform(0.1, 0.5))
        if (tmp_path / "resume").is_dir():
            model, optimiser = model_and_optimiser()
            training_state = load_checkpoint(tmp_path / "resume", model, optimiser)
            assert {float(value) for value in model.bias.detach()} == {float(str(training_state["step"]))}
            complete += 1
    assert complete > 0

"""A checkpoint restores all weights and moments, after a kill too; a damaged or foreign one is an error."""

import os
import random
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from runners.training.checkpoint import load_checkpoint, load_weights, save_checkpoint
from runners.training.optimisers.adamw import adamw
from search_space.convolution import SpanDynamic
from search_space.objective import Supersense
from steeplechase.foundation.atomic_files import remove_directory
from steeplechase.foundation.errors import CorruptionError
from steeplechase.ledger.artifacts import ArtifactStore, Outcome
from steeplechase.ledger.records import Status
from steeplechase.models.encoder import Encoder
from tests.factories.keys import KEY
from tests.factories.small_experiments import OBJECTIVES, SPAN_DYNAMIC, SUPERSENSES, built, candidate, convolutions
from tests.factories.training_data import Run

FILES = ("optimiser.safetensors", "place.json", "sha256.json", "weights.safetensors")
LEARNER = candidate(SPAN_DYNAMIC, OBJECTIVES[1], 0.1)
UNTRAINED = Run.started(LEARNER)


def test_a_checkpoint_is_replaced_atomically(tmp_path: Path) -> None:
    folder = tmp_path / "one"
    run = Run.started(LEARNER).train(0, 2)
    run.save(folder, 2)
    (folder / "stray").touch()
    (tmp_path / ".one.writing").mkdir()  # as after a killed writer
    (tmp_path / ".one.writing" / "stray").touch()
    run.train(2, 4).save(folder, 4)
    assert [path.name for path in tmp_path.iterdir()] == ["one"]
    assert sorted(path.name for path in folder.iterdir()) == list(FILES)
    assert Run.started(LEARNER).load(folder) == 4


def test_the_supersenses_of_the_vocabulary_are_stored_with_the_weights(tmp_path: Path) -> None:
    learner = candidate(SPAN_DYNAMIC, Supersense(), 0.1)
    trained = built(learner)
    save_checkpoint(tmp_path / "one", trained, adamw(trained, 0.0), {})
    encoder = Encoder(learner.architecture, 0.0)
    assert encoder.embeddings.supersenses is not None
    assert not encoder.embeddings.supersenses.allowed.any()
    load_weights(tmp_path / "one", encoder, "encoder.")
    assert torch.equal(encoder.embeddings.supersenses.allowed, torch.from_numpy(SUPERSENSES))


def test_the_weights_of_another_model_are_an_error(tmp_path: Path) -> None:
    Run.started(LEARNER).train(0, 1).save(tmp_path / "one", 1)
    other_names = candidate(convolutions()[1], OBJECTIVES[1])
    with pytest.raises(ValueError, match="not those of the model's parameters"):
        Run.started(other_names).load(tmp_path / "one")
    other_sizes = candidate(SpanDynamic(kernel_size=9), OBJECTIVES[1])
    with pytest.raises(ValueError, match=r"generate.bias: shape \(10,\) in the checkpoint, \(18,\) in the model"):
        Run.started(other_sizes).load(tmp_path / "one")


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a stage store with one finished stage, whose folder contains a checkpoint."""
    store = ArtifactStore(tmp_path_factory.mktemp("stages"))
    with store.computing(KEY) as work:
        Run.started(LEARNER).train(0, 2).save(work / "checkpoint", 2)
        store.publish("pretrain", KEY, work, Outcome(Status.FINISHED, {"loss": 0.25, "curve": [[64, 3.0]]}, 1.5))
    assert store.read("pretrain", KEY) == ArtifactStore(store.root).folder("pretrain", KEY)
    return store.root


def damage(data: st.DataObject, original: bytes) -> bytes | None:
    """Draw a damaged content: changed bytes, truncated, longer, or a missing file."""
    kind = data.draw(st.sampled_from(("flip", "truncate", "extend", "remove")))
    if kind == "remove":
        return None
    if kind == "truncate":
        return original[: data.draw(st.integers(0, len(original) - 1))]
    if kind == "extend":
        return original + data.draw(st.binary(min_size=1, max_size=4).filter(lambda more: bool(more.strip())))
    changed = bytearray(original)
    for position in data.draw(st.sets(st.integers(0, len(original) - 1), min_size=1, max_size=3)):
        changed[position] ^= data.draw(st.integers(1, 255))
    return bytes(changed)


@contextmanager
def damaged(path: Path, data: st.DataObject) -> Iterator[None]:
    original = path.read_bytes()
    content = damage(data, original)
    try:
        path.unlink() if content is None else path.write_bytes(content)
        yield
    finally:
        path.write_bytes(original)


@given(st.data(), st.sampled_from(FILES))
@settings(max_examples=50)
def test_a_damaged_checkpoint_is_an_error_and_loads_no_weights(
    published: Path, data: st.DataObject, name: str
) -> None:
    folder, run = published / "pretrain" / KEY / "checkpoint", UNTRAINED
    before = {key: value.clone() for key, value in run.model.named_parameters()}
    with damaged(folder / name, data), pytest.raises(CorruptionError, match="run again"):
        run.load(folder)
    assert all(torch.equal(value, before[key]) for key, value in run.model.named_parameters())


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
    for _ in range(8):
        killed_after(tmp_path / "resume", generator.uniform(0.05, 0.2))
        if (tmp_path / "resume").is_dir():
            model, optimiser = model_and_optimiser()
            training_state = load_checkpoint(tmp_path / "resume", model, optimiser)
            assert {float(value) for value in model.bias.detach()} == {float(str(training_state["step"]))}
            complete += 1
    assert complete > 0

"""Random streams of fine-tuning depend on both seeds and not on the arm; the score of each example is stored."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from runners.computing import fine_tune
from runners.computing.batches import epoch_batches
from runners.stages.context import ProgressFile, StageContext
from runners.stages.fine_tune import FineTuneStage
from runners.training.checkpoint import save_checkpoint
from runners.training.optimisers.adamw import adamw
from steeplechase.foundation.canonical import canonical_text
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.example_values import read_example_values
from steeplechase.ledger.result_files import CHECKPOINT, example_scores_file, predictions_file
from steeplechase.ledger.stage_results import ExampleValues
from steeplechase.models.downstream_model import build_fine_tuned
from steeplechase.models.initialisation import initialise
from steeplechase.tasks.downstream import find_task
from steeplechase.tasks.labelled.encoding import EncodedExamples, save_examples
from steeplechase.tasks.labelled.scoring import score
from tests.factories.small_experiments import WORDS, architecture, convolutions

SEEDS = st.integers(0, 2**32 - 1)
ARMS = [architecture(convolution) for convolution in convolutions()]


def stage(pretraining_seed: int, seed: int, arm: int = 0, **settings: Any) -> FineTuneStage:
    defaults = {"epochs": 2, "batch_examples": 8, "peak_learning_rate": 5e-3, "warmup_share": 0.1}
    more = {"weight_decay": 0.0, "dropout": 0.1, "pooling": "mean", "task": "docs_pair"}
    seeds = {"pretraining_seed": pretraining_seed, "seed": seed}
    return FineTuneStage.model_validate({"architecture": ARMS[arm], **seeds, **defaults, **more, **settings})


def examples(count: int) -> EncodedExamples:
    random = np.random.default_rng(1)
    lengths = random.integers(4, 17, count).astype(np.int32)
    tokens = random.integers(5, WORDS.vocabulary_size, (count, 16), dtype=np.int32)
    nothing = np.full(count, -1, np.int32)
    return EncodedExamples(
        tokens=tokens * (np.arange(16)[None] < lengths[:, None]).astype(np.int32),
        segments=np.zeros((count, 16), np.int32),
        lengths=lengths,
        labels=(tokens[:, 1] % 2).astype(np.int32),
        starts=nothing,
        ends=nothing,
        offsets=np.zeros((count, 0, 2), np.int32),
        seconds=(),
        answers=(),
        truncated=0,
        answers_lost=0,
    )


TRAIN = examples(50)


def order(declared: FineTuneStage) -> list[list[list[int]]]:
    return [[batch.tolist() for batch in epoch_batches(TRAIN, declared, epoch)] for epoch in range(2)]


def head(declared: FineTuneStage) -> list[torch.Tensor]:
    task = find_task(declared.task)
    model = build_fine_tuned(declared.architecture, task.form, task.outputs, declared.pooling, declared.dropout)
    initialise(model, fine_tune.stream_seed(declared.root_seed, "head"))
    return [value for name, value in model.named_parameters() if name.startswith("head.")]


@given(SEEDS, SEEDS, st.integers(1, len(ARMS) - 1))
def test_the_order_of_examples_depends_on_both_seeds_and_not_on_the_arm(
    pretraining: int, tuning: int, arm: int
) -> None:
    one, other = stage(pretraining, tuning), stage(pretraining, tuning, arm)
    assert one.root_seed == other.root_seed
    assert order(one) == order(other)
    assert sorted(example for batch in order(one)[0] for example in batch) == list(range(50))


@given(st.tuples(SEEDS, SEEDS), st.tuples(SEEDS, SEEDS))
def test_fine_tuning_seeds_are_nested_in_pretraining_seeds(pair: tuple[int, int], other: tuple[int, int]) -> None:
    """The same fine-tuning seed with another pretraining seed gives other draws, as does exchanging the two seeds."""
    assume(pair != other)
    for each in (other, (other[0], pair[1]), (pair[0], other[1]), pair[::-1]):
        if each != pair:
            assert stage(*each).root_seed != stage(*pair).root_seed
            assert order(stage(*each)) != order(stage(*pair))


def test_the_initial_head_depends_on_the_seeds_alone() -> None:
    heads = [head(stage(1, 2, arm)) for arm in range(len(ARMS))]
    assert heads[0]
    assert all(torch.equal(*pair) for other in heads[1:] for pair in zip(heads[0], other, strict=True))
    assert not torch.equal(heads[0][0], head(stage(2, 2))[0])


@pytest.fixture(scope="module")
def computed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, JsonValue]]:
    """Return the folder and the result of a fine-tuning with a second labelled part and an unlabelled one."""
    folder = tmp_path_factory.mktemp("tuned")
    other_parts = {"other": examples(9), "test": replace(examples(7), labels=np.full(7, -1, np.int32))}
    for part, chosen in {"train": TRAIN, "dev": examples(70), **other_parts}.items():
        (folder / "examples" / part).mkdir(parents=True)
        save_examples(chosen, folder / "examples" / part)
    task = find_task("docs_pair")
    model = build_fine_tuned(ARMS[0], task.form, task.outputs, "mean", 0.1)
    initialise(model, 1)
    save_checkpoint(folder / CHECKPOINT, model, adamw(model, 0.0), {})
    (folder / "work").mkdir()
    inputs = {"examples": folder / "examples", "pretrained": folder}
    context = StageContext(inputs, folder / "work", ProgressFile(folder / "progress.json"))
    return folder / "work", fine_tune.compute(stage(1, 1), context)


def test_the_score_of_every_labelled_example_is_stored(computed: tuple[Path, dict[str, JsonValue]]) -> None:
    folder, result = computed
    stored = result["example_scores"]
    assert isinstance(stored, dict)
    assert stored.keys() == {"dev", "other"}
    for part, count in (("dev", 70), ("other", 9)):
        described = ExampleValues.model_validate_json(canonical_text(stored[part]))
        (values,) = read_example_values(folder / example_scores_file(part), described)
        predictions = json.loads((folder / predictions_file(part)).read_text())
        references = examples(count).labels.tolist()
        assert described.metrics == ("accuracy",)
        assert values.tolist() == [float(one == other) for one, other in zip(predictions, references, strict=True)]
        assert 100 * values.mean() == pytest.approx(
            score(find_task("docs_pair"), predictions, references)["accuracy"]
        )
    assert 0 < values.mean() < 1

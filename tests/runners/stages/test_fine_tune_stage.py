"""Fine-tuning: random streams of both seeds, every form of task, and the score of each example."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from runners.computing import fine_tune
from runners.computing.batches import epoch_batches
from runners.computing.examples import encode_part
from runners.scoring import part_scores
from runners.stages.context import ProgressFile, StageContext
from runners.stages.fine_tune import FineTuneStage
from runners.training.checkpoint import save_checkpoint
from runners.training.optimisers.adamw import adamw
from steeplechase.configuration.fine_tuning import FineTuning
from steeplechase.configuration.fine_tuning_runs import FineTuningRun
from steeplechase.foundation.canonical import canonical_text
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.example_values import read_example_values
from steeplechase.ledger.paths import CHECKPOINT, example_scores_file, predictions_file
from steeplechase.ledger.stage_results import ExampleValues
from steeplechase.models.downstream_model import build_fine_tuned
from steeplechase.models.initialisation import initialise
from steeplechase.tasks.downstream import find_task
from steeplechase.tasks.labelled.encoding import EncodedExamples, save_examples
from steeplechase.tasks.labelled.forms import load_words
from steeplechase.tasks.labelled.scoring import score, score_tags
from steeplechase.tasks.labelled.task import Example
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


def test_a_batch_without_padding_has_no_mask_on_a_device() -> None:
    """So that attention may be flash attention; a mask of ones would rule it out."""
    lengths, device = np.asarray(TRAIN.lengths), torch.device("meta")
    equal, longest = np.flatnonzero(lengths == lengths[0]), int(lengths[0])
    assert fine_tune._inputs(TRAIN, equal, device)[2] is None
    for rows, where in ((equal, "cpu"), (np.arange(50), "meta")):
        mask = fine_tune._inputs(TRAIN, rows, torch.device(where))[2]
        assert mask is not None
        assert mask.shape == (len(rows), longest if where == "cpu" else lengths.max())


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


ARM = architecture(convolutions()[-1])


RANDOM = np.random.default_rng(7)


LENGTH = 10


def text(numbers: NDArray[np.int64]) -> str:
    return " ".join(f"w{number}" for number in numbers)


def choice() -> Example:
    """Return a choice whose right ending alone has w30."""
    label = int(RANDOM.integers(4))
    endings = [text(RANDOM.integers(0, 20, 3)) for _ in range(4)]
    endings[label] = f"w30 {endings[label]}"
    return Example(text(RANDOM.integers(0, 20, 2)), label=label, endings=tuple(endings))


def sentence(words: int) -> Example:
    """Return a sentence in which w30 and above are entities of one word each."""
    numbers = RANDOM.integers(24, 35, words)
    return Example(text(numbers), tags=tuple(1 if number >= 30 else 0 for number in numbers))


def tuned(task: str, parts: dict[str, list[Example]], folder: Path) -> tuple[Path, dict[str, JsonValue]]:
    """Fine-tune on the parts, and return the folder of predictions and the result."""
    for part, examples in parts.items():
        (folder / "examples" / part).mkdir(parents=True)
        encode_part(find_task(task), examples, WORDS, LENGTH, folder / "examples" / part)
    found = find_task(task)
    model = build_fine_tuned(ARM, found.form, found.outputs, "first", 0.1)
    initialise(model, 1)
    save_checkpoint(folder / CHECKPOINT, model, adamw(model, 0.0), {})
    (folder / "work").mkdir()
    stage = FineTuneStage(
        architecture=ARM,
        task=task,
        pretraining_seed=1,
        seed=1,
        epochs=30,
        batch_examples=16,
        peak_learning_rate=5e-3,
        weight_decay=0.0,
        dropout=0.0,
    )
    inputs = {"examples": folder / "examples", "pretrained": folder}
    context = StageContext(inputs, folder / "work", ProgressFile(folder / "progress.json"))
    return folder / "work", fine_tune.compute(stage, context)


def scores_of(task: str, folder: Path, search: FineTuningRun | None = None) -> dict[str, Any]:
    return part_scores(find_task(task), folder / "examples", folder / "work", search)


def test_a_choice_is_learned_and_scored_by_the_driver(tmp_path: Path) -> None:
    parts = {part: [choice() for _ in range(count)] for part, count in (("train", 80), ("dev", 60), ("test", 20))}
    work, result = tuned("codah", parts, tmp_path)
    assert result["examples"] == 60
    assert result["others"] == {"test": 20}
    predictions = json.loads((work / predictions_file("dev")).read_text())
    correct = [prediction == example.label for prediction, example in zip(predictions, parts["dev"], strict=True)]
    found = scores_of("codah", tmp_path)
    assert found["scores"] == {"accuracy": pytest.approx(100 * np.mean(correct))}
    assert found["scores"]["accuracy"] > 90  # chance is 25
    assert "scores test" in found
    assert (work / example_scores_file("test")).is_file()


@pytest.fixture(scope="module")
def tagged(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, list[Example]]]:
    folder = tmp_path_factory.mktemp("tagged")
    parts = {part: [sentence(int(RANDOM.integers(2, 8))) for _ in range(80)] for part in ("train", "dev")}
    parts["test"] = [sentence(20) for _ in range(10)]  # eight words fit
    _, result = tuned("conll2003", parts, folder)
    assert result["examples"] == 80
    return folder, parts


def test_tags_are_learned_and_scored_by_words(tagged: tuple[Path, dict[str, list[Example]]]) -> None:
    folder, parts = tagged
    found = scores_of("conll2003", folder)
    assert found["scores"]["entity_f1"] > 90
    predictions = json.loads((folder / "work" / predictions_file("dev")).read_text())
    assert len(predictions) == sum(len(example.tags) for example in parts["dev"])
    words = load_words(folder / "examples" / "dev")
    assert found["scores"] == score_tags(find_task("conll2003"), predictions, words.tags, words.sentences)


def test_entities_of_truncated_words_are_missed(tagged: tuple[Path, dict[str, list[Example]]]) -> None:
    folder, parts = tagged
    found = scores_of("conll2003", folder)["scores test"]
    kept = sum(sum(example.tags[: LENGTH - 2]) for example in parts["test"])
    entities = sum(sum(example.tags) for example in parts["test"])
    assert found["entity_recall"] <= 100 * kept / entities
    assert found["entity_precision"] > 90
    predictions = json.loads((folder / "work" / predictions_file("test")).read_text())
    by_sentence = np.reshape(predictions, (10, 20))
    assert not by_sentence[:, LENGTH - 2 :].any()


def test_a_search_scores_the_sentences_of_its_halves(tagged: tuple[Path, dict[str, list[Example]]]) -> None:
    folder, _ = tagged
    search = FineTuningRun("conll2003", 1, FineTuning(), {"epochs": 3}, "held_out_half")
    found = scores_of("conll2003", folder, search)
    assert found["choice"]["n"] + found["choice"]["reported"] == 80
    assert found["choice"]["n"] in range(30, 41)  # equal sentences are in one half
    both = scores_of("conll2003", folder)["scores"]["entity_f1"]
    halves = sorted((found["choice"]["score"], found["scores"]["entity_f1"]))
    assert halves[0] <= both <= halves[1]

"""Answers and texts from files to scores: SQuAD's spans are found, and pairs of texts are copied and scored."""

import json
import math
import random
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from torch import nn

from runners.computing import generated_texts
from runners.computing.examples import encode_part
from runners.computing.execute import execute
from runners.dag import shared_stages, trial_stages
from runners.scoring import part_scores, scored_result
from runners.stage_labels import kind_of
from runners.stages.context import Diverged, ProgressFile, StageContext
from runners.stages.fine_tune import FineTuneStage
from runners.stages.pretrain import PretrainStage
from runners.stages.stage import Job, Stage
from runners.training.checkpoint import save_weights
from search_space.architecture import Architecture
from search_space.overrides import apply
from steeplechase.commands.generate import Search, texts_of
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.fine_tuning import FineTuning
from steeplechase.configuration.fine_tuning_runs import FineTuningRun
from steeplechase.configuration.stage_label import LONG_SEQUENCE_PHASE
from steeplechase.configuration.validation.experiment import violations_of
from steeplechase.foundation.canonical import canonical_text
from steeplechase.foundation.errors import ConfigurationError, DataError
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.artifacts import ArtifactStore, Outcome
from steeplechase.ledger.checkpoints import TunedTrial
from steeplechase.ledger.example_values import read_example_values
from steeplechase.ledger.paths import CHECKPOINT, example_scores_file, predictions_file
from steeplechase.ledger.records import Status
from steeplechase.ledger.stage_results import ExampleValues
from steeplechase.models.build_encoder import build_encoder
from steeplechase.models.heads.masked_language_model import MaskedLanguageModelHead
from steeplechase.models.initialisation import initialise
from steeplechase.tasks.downstream import find_task
from steeplechase.tasks.downstream.squad import score_files
from steeplechase.tasks.labelled.task import Example
from steeplechase.tasks.squad.prepare import selection_half_of_questions
from steeplechase.tasks.squad.windows import load_questions
from tests.factories import simulated_training as simulated
from tests.factories.encoder_decoders import architecture
from tests.factories.small_experiments import WORDS as COPIED

SENTENCE = "a river runs through the old town and past its walls into broad green fields where sheep graze"
WORDS = SENTENCE.split(" ")
ARCHITECTURE = {**simulated.ARCHITECTURE, "vocabulary_size": 200, "positions": 96}
RECIPE = {**simulated.RECIPE, "dropout": 0.0, "peak_learning_rate": 3e-3}


def squad(version: str, count: int, seed: int) -> dict[str, Any]:
    """Return a SQuAD file whose paragraphs contain one number each; in 2.0 every third contains none."""
    generator = random.Random(seed)
    paragraphs = []
    for index in range(count):
        words = generator.choices(WORDS, k=generator.randint(8, 24))
        answerable = version == "v1.1" or index % 3 > 0
        if answerable:
            words.insert(generator.randrange(len(words)), number := str(generator.randint(100, 999)))
        context = " ".join(words)
        answers = [{"text": number, "answer_start": context.index(number)}] if answerable else []
        question: dict[str, Any] = {"id": f"{seed}-{index}", "question": "how many?", "answers": answers}
        question |= {"is_impossible": not answerable} if version == "v2.0" else {}
        paragraphs.append({"context": context, "qas": [question]})
    return {"version": version, "data": [{"title": "Numbers", "paragraphs": paragraphs}]}


def experiment(folder: Path, **parts: Any) -> Experiment:
    """Return an experiment on both SQuAD tasks, with their files in the folder."""
    data = folder / "data" / "squad"
    data.mkdir(parents=True)
    for version in ("v1.1", "v2.0"):
        (data / f"train-{version}.cut.json").write_text(json.dumps(squad(version, 300, 1)))
        (data / f"dev-{version}.json").write_text(json.dumps(squad(version, 60, 2)))
    tuning = {
        "tasks": ["squad_v2_0", "squad_v1_1"],
        "data": str(folder / "data"),
        "sequence_length": 70,
        "epochs": 8,
        "peak_learning_rate": 5e-3,
    }
    document = {
        "baseline": {"architecture": ARCHITECTURE, "objective": {"kind": "masked_language_model"}, "recipe": RECIPE},
        "design": {"kind": "list", "arms": {"narrow": {"bottleneck_ratio": 2}}},
        "pretraining": {"tokens": 2560, "seeds": [1], "held_out_sequences": 2},
        "fine_tuning": tuning,
        **parts,
    }
    found = simulated.experiment(folder, **document)
    generator = random.Random(3)
    sentences = [" ".join([*generator.choices(WORDS, k=12), str(generator.randint(100, 999))]) for _ in range(2400)]
    (folder / "text.txt").write_text("\n\n".join(sentences))
    return found


@cache
def computed(folder: Path) -> tuple[ArtifactStore, dict[str, Stage], dict[str, dict[str, Any]]]:
    """Return the stage store, the stages of one trial and their results as in the ledger; cached."""
    tested = experiment(folder)
    recipe = {"recipe.long_sequence_share": 0.1, "recipe.long_sequence_length": 32}
    store = ArtifactStore(folder / "stages")
    shared = shared_stages(tested)
    stages = {**shared.by_label, **trial_stages(tested, shared, apply(tested.baseline, recipe), 1)}
    results = {}
    for label, stage in stages.items():
        outcome: Outcome = execute(Job.of(stage, str(store.root)))
        results[label] = scored_result(stage, outcome, store).as_json
    return store, stages, results


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("squad")


@pytest.mark.parametrize("task", ["squad_v1_1", "squad_v2_0"])
def test_an_encoder_learns_to_answer_and_the_official_scorer_agrees(task: str, folder: Path) -> None:
    store, stages, results = computed(folder)
    label = f"{task}#1"
    record, version = results[label], "v1.1" if task == "squad_v1_1" else "v2.0"
    assert record["scores"]["f1"] > 80
    predictions = store.read("fine_tune", stages[label].key) / predictions_file("dev")
    alone = score_files("v1.1" if version == "v1.1" else "v2.0", folder / "data" / "squad", predictions)
    assert alone.metrics == record["official"]
    assert alone.remarks == ()
    assert record["examples"] == 60
    described = ExampleValues.model_validate_json(canonical_text(record["example_scores"]["dev"]))
    values = read_example_values(predictions.with_name(example_scores_file("dev")), described)
    assert described.metrics == find_task(task).metrics
    for metric, of_questions in zip(described.metrics, values, strict=True):
        assert 100 * of_questions.mean() == pytest.approx(record["scores"][metric], rel=1e-6)


def test_a_search_selects_on_half_of_the_paragraphs_and_reports_the_other_half(folder: Path) -> None:
    store, stages, results = computed(folder)
    stage = stages["squad_v1_1#1"]
    search = FineTuningRun("squad_v1_1", 1, FineTuning(), {"epochs": 12}, "held_out_half")
    result = scored_result(stage, Outcome(Status.FINISHED, {"examples": 60}, 1.0), store, search).as_json
    choice = result["choice"]
    questions = load_questions(store.read("examples", stages["examples squad_v1_1"].key) / "dev")
    assert isinstance(choice, dict)
    assert (choice["n"], choice["reported"]) == (30, 30)
    half = selection_half_of_questions(questions)
    selection = {question.context for question, selected in zip(questions, half, strict=True) if selected}
    reporting = {question.context for question, selected in zip(questions, half, strict=True) if not selected}
    assert not selection & reporting
    all_scores, reported = results["squad_v1_1#1"]["scores"], result["scores"]
    assert isinstance(reported, dict)
    assert (choice["score"] + reported["f1"]) / 2 == pytest.approx(all_scores["f1"])  # type: ignore[operator]


def test_the_threshold_is_selected_on_the_train_file_only(folder: Path) -> None:
    _, _, results = computed(folder)
    examples, record = results["examples squad_v2_0"], results["squad_v2_0#1"]
    assert examples["train"]["examples"] + examples["threshold"]["examples"] == 300
    assert examples["threshold"]["file"] == examples["train"]["file"] == "train-v2.0.cut.json"
    assert not examples["train"]["official_name"]
    assert record["threshold_questions"] == examples["threshold"]["examples"] > 10
    assert record["threshold_unanswerable"] == examples["threshold"]["unanswerable"] > 0
    assert record["official"]["NoAns_exact"] > 50
    assert "threshold" not in results["examples squad_v1_1"]


def test_tasks_with_long_texts_start_from_the_long_sequence_phase(folder: Path) -> None:
    _, stages, results = computed(folder)
    longer = stages[LONG_SEQUENCE_PHASE].declaration
    assert isinstance(longer, PretrainStage)
    assert (longer.from_step, longer.to_step, longer.candidate.recipe.sequence_length) == (40, 44, 32)
    assert stages["squad_v1_1#1"].inputs["pretrained"] is stages[LONG_SEQUENCE_PHASE]
    assert kind_of(LONG_SEQUENCE_PHASE, stages[LONG_SEQUENCE_PHASE]) == LONG_SEQUENCE_PHASE
    assert results[LONG_SEQUENCE_PHASE]["held_out_loss"] > 0


def test_impossible_lengths_are_violations(tmp_path: Path) -> None:
    tuning = {"tasks": ["squad_v1_1"], "sequence_length": 67}
    found = [
        (".".join(map(str, each.path)), each.message)
        for each in violations_of(simulated.experiment(tmp_path, fine_tuning=tuning))
    ]
    assert ("fine_tuning.sequence_length", "67 is too short for squad_v1_1; allowed: 68 and longer") in found
    assert any(path == "fine_tuning.tasks.0" and "needs fine_tuning.data" in message for path, message in found)


TASK, LENGTH = find_task("multi30k_de_en"), 8


ARM = architecture(
    "transformer", depth=1, decoder_depth=1, width=32, feed_forward_width=64, vocabulary_size=COPIED.vocabulary_size,
    normalisation={"kind": "pre_norm", "embedding": False},
)  # fmt: skip


STACK = Architecture.model_validate(
    {
        "depth": 1, "width": 32, "embedding_width": 32, "heads": 4, "feed_forward_width": 64, "segments": 6,
        "positions": 2 * LENGTH, "vocabulary_size": COPIED.vocabulary_size,
    }
)  # fmt: skip


def pairs(count: int, seed: int) -> list[Example]:
    """Return sources of four words, whose targets are the sources."""
    words = np.random.default_rng(seed).integers(0, 8, (count, 4))
    texts = (" ".join(f"w{word}" for word in row) for row in words)
    return [Example(text, text) for text in texts]


def stage(rate: float, epochs: int, architecture: Architecture = ARM) -> FineTuneStage:
    return FineTuneStage(
        architecture=architecture, task=TASK.name, pretraining_seed=1, seed=1, epochs=epochs, batch_examples=32,
        peak_learning_rate=rate, warmup_share=0.1, weight_decay=0.0, dropout=0.0,
    )  # fmt: skip


def tuned(
    folder: Path, rate: float = 1e-2, epochs: int = 8, train: int = 600, architecture: Architecture = ARM
) -> dict[str, JsonValue]:
    for part, count in (("train", train), ("dev", 40), ("test", 10)):
        (folder / "examples" / part).mkdir(parents=True)
        encode_part(TASK, pairs(count, len(part)), COPIED, LENGTH, folder / "examples" / part)
    model = nn.ModuleDict({"encoder": build_encoder(architecture, 0.0)})
    if architecture is not ARM:
        model["head"] = MaskedLanguageModelHead(architecture)
    initialise(model, 1)
    save_weights(folder / CHECKPOINT, model)
    (folder / "tokens").mkdir()
    COPIED.save(folder / "tokens")
    (folder / "work").mkdir()
    inputs = {"examples": folder / "examples", "pretrained": folder, "tokens": folder / "tokens"}
    context = StageContext(inputs, folder / "work", ProgressFile(folder / "progress.json"))
    return generated_texts.compute(stage(rate, epochs, architecture), context)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, JsonValue]]:
    folder = tmp_path_factory.mktemp("pairs")
    return folder, tuned(folder)


def test_copies_are_learned_and_scored_by_the_driver(finished: tuple[Path, dict[str, JsonValue]]) -> None:
    folder, result = finished
    assert (result["examples"], result["others"]) == (40, {"test": 10})
    texts = json.loads((folder / "work" / predictions_file("dev")).read_text())
    equal = np.mean([text == pair.second for text, pair in zip(texts, pairs(40, 3), strict=True)])
    assert equal > 0.9
    found = part_scores(TASK, folder / "examples", folder / "work", None)
    assert found["scores"]["bleu"] > 90  # type: ignore[index, call-overload, operator]
    assert (folder / "work" / example_scores_file("test")).is_file()


def test_generate_writes_the_texts_of_the_stage(finished: tuple[Path, dict[str, JsonValue]]) -> None:
    folder, _ = finished
    trial = TunedTrial("baseline/1", TASK.name, ARM, folder / "work", folder / "tokens")
    sources = [pair.first for pair in pairs(40, 3)]
    texts = json.loads((folder / "work" / predictions_file("dev")).read_text())
    assert texts_of(trial, sources, Search(1, 0.0, LENGTH), "lines.txt") == texts
    beams = texts_of(trial, sources, Search(3, 0.6, LENGTH), "lines.txt")
    assert np.mean([beam == text for beam, text in zip(beams, texts, strict=True)]) > 0.9


def test_generate_refuses_more_beams_than_tokens(finished: tuple[Path, dict[str, JsonValue]]) -> None:
    folder, _ = finished
    trial = TunedTrial("baseline/1", TASK.name, ARM, folder / "work", folder / "tokens")
    size = ARM.vocabulary_size
    assert len(texts_of(trial, ["a"], Search(size, 0.6, 2), "lines.txt")) == 1
    with pytest.raises(ConfigurationError) as refused:
        texts_of(trial, ["a"], Search(size + 1, 0.6, 2), "lines.txt")
    assert refused.value.lines == (f"--beams: {size + 1} beams of a vocabulary of {size}; allowed: 1 to {size}",)


def test_a_stack_without_a_decoder_writes_texts_that_generate_repeats(tmp_path: Path) -> None:
    """UNILM's fine-tuning: one stack with six segments, whose source and target are one sequence."""
    result = tuned(tmp_path, epochs=3, train=200, architecture=STACK)
    texts = json.loads((tmp_path / "work" / predictions_file("dev")).read_text())
    assert (result["examples"], len(texts)) == (40, 40)
    assert result["target_losses"]["dev"] < math.log(COPIED.vocabulary_size)  # type: ignore[index, call-overload, operator]
    trial = TunedTrial("baseline/1", TASK.name, STACK, tmp_path / "work", tmp_path / "tokens")
    assert texts_of(trial, [pair.first for pair in pairs(40, 3)], Search(1, 0.0, LENGTH), "lines.txt") == texts
    with pytest.raises(DataError) as refused:
        texts_of(trial, ["word " * 1000] * 30, Search(1, 0.0, LENGTH), "lines.txt")
    assert refused.value.lines[0].startswith("lines.txt:1: ")
    assert refused.value.lines[-1] == "lines.txt: 10 more lines that are too long"


def test_a_rate_that_is_too_high_ends_as_a_diverged_trial(tmp_path: Path) -> None:
    with pytest.raises(Diverged) as stopped:
        tuned(tmp_path, rate=1e38, epochs=1)
    assert stopped.value.result["task"] == TASK.name

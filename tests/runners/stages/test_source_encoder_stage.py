"""Fine-tuning from other encoders: a new one of the source, its own vocabulary, and the first blocks alone (GPT)."""

import gzip
import json
from pathlib import Path
from typing import cast

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from runners.computing import examples, generated_texts
from runners.computing.examples import encode_part
from runners.computing.fine_tune import load_pretrained
from runners.cost_estimate.flops import stage_flops
from runners.dag import shared_stages, trial_stages
from runners.stages.context import ProgressFile, StageContext
from runners.stages.examples import ExamplesStage
from runners.stages.fine_tune import FineTuneStage
from runners.training.checkpoint import WEIGHTS, save_checkpoint, save_weights
from runners.training.optimisers import build_optimiser
from search_space.architecture import Architecture
from search_space.candidate import Candidate
from search_space.encoder_decoder_architecture import EncoderDecoderArchitecture
from search_space.normalisation import PreNorm
from search_space.objective import LanguageModel
from search_space.output_layer import Transformed
from search_space.output_layer.option import OutputLayerOption
from search_space.source_encoder import update_flops
from steeplechase.commands.generate import Search, texts_of
from steeplechase.configuration.fine_tuning import SourceEncoder, TextGeneration
from steeplechase.foundation.errors import DataError
from steeplechase.ledger.checkpoints import TunedTrial
from steeplechase.ledger.paths import CHECKPOINT, SOURCE_TOKENIZER, predictions_file
from steeplechase.models.build_encoder import build_encoder
from steeplechase.models.downstream_model import build_fine_tuned
from steeplechase.models.encoder import Encoder
from steeplechase.models.initialisation import initialise
from steeplechase.models.language_model_loss import WithLanguageModel
from steeplechase.models.output_layer import build_output_layer
from steeplechase.tasks.data_folder import VARIABLE
from steeplechase.tasks.dataset_folder import FolderOfTasks
from steeplechase.tasks.downstream import find_task
from steeplechase.tasks.labelled.task import Example
from steeplechase.tasks.objectives import build_model
from steeplechase.tasks.tokenizer import TokenizerDeclaration, WordOption, WordPieceTraining, load_tokenizer
from tests.factories.encoder_decoders import architecture
from tests.factories.experiment_files import experiment_of
from tests.factories.small_experiments import WORDS, stir

TASK, LENGTH, OWN_SIZE = find_task("multi30k_de_en"), 8, 13
ARM = architecture(
    "bart", depth=1, decoder_depth=1, width=32, feed_forward_width=64, vocabulary_size=WORDS.vocabulary_size
)


def pairs(count: int, seed: int) -> list[Example]:
    """Return sources of three words of another language, one for each word of the target."""
    words = np.random.default_rng(seed).integers(0, 8, (count, 3))
    return [Example(" ".join(f"v{word}" for word in row), " ".join(f"w{word}" for word in row)) for row in words]


def finished(folder: Path, *, own_vocabulary: bool, **settings: float) -> FineTuneStage:
    """Compute a stage in folder/work, from JSON as a worker does; the pretrained weights are initial ones."""
    own = WordOption().tokenizer([pair.first for pair in pairs(60, 1)], OWN_SIZE) if own_vocabulary else None
    for part, count in (("train", 60), ("dev", 12)):
        (folder / "examples" / part).mkdir(parents=True)
        encode_part(TASK, pairs(count, len(part)), WORDS, LENGTH, folder / "examples" / part, own)
    if own is not None:
        (folder / "examples" / SOURCE_TOKENIZER).mkdir()
        own.save(folder / "examples" / SOURCE_TOKENIZER)
    model = nn.ModuleDict({"encoder": build_encoder(ARM, 0.0)})
    initialise(model, 1)
    save_weights(folder / CHECKPOINT, model)
    (folder / "tokens").mkdir()
    WORDS.save(folder / "tokens")
    (folder / "work").mkdir()
    new = SourceEncoder(depth=1, vocabulary_size=OWN_SIZE if own_vocabulary else None, **settings)  # type: ignore[arg-type]
    declared = FineTuneStage(
        architecture=ARM, task=TASK.name, pretraining_seed=1, seed=1, epochs=2, batch_examples=20, weight_decay=0.0,
        peak_learning_rate=1e-2, dropout=0.0, generation=TextGeneration(source_encoder=new, longest_output=5),
    )  # fmt: skip
    inputs = {"examples": folder / "examples", "pretrained": folder, "tokens": folder / "tokens"}
    context = StageContext(inputs, folder / "work", ProgressFile(folder / "progress.json"))
    stage = FineTuneStage.model_validate_json(declared.model_dump_json())
    assert stage == declared
    result = generated_texts.compute(stage, context)
    assert (result["examples"], result.get("others")) == (12, None), "the folder of a tokenizer is no part"
    return stage


def weights(folder: Path) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Return the pretrained and the trained weights by the pretrained model's names."""
    before = {
        name.removeprefix("encoder."): value for name, value in load_file(folder / CHECKPOINT / WEIGHTS).items()
    }
    after = load_file(folder / "work" / generated_texts.FINE_TUNED / WEIGHTS)
    after["embeddings.tokens.weight"] = after["decoder.embeddings.tokens.weight"]  # the tied table's first name
    return before, after


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_stored_weights_differ_where_a_stage_updates_them(share: float, tmp_path: Path) -> None:
    finished(tmp_path, own_vocabulary=True, first_stage_share=share)
    before, after = weights(tmp_path)
    changed = {name for name, value in before.items() if not torch.equal(value, after[name])}
    attention = {f"blocks.0.attention.{each}.weight" for each in ("query", "key", "value")}
    named = {"embeddings.positions.weight", "decoder.embeddings.positions.weight", *attention}
    assert changed == (named if share else set(before))
    assert after["embeddings.encoder.embeddings.tokens.weight"].shape == (OWN_SIZE, ARM.width)


@pytest.mark.parametrize("own_vocabulary", [True, False])
def test_generate_writes_the_texts_of_the_stage(own_vocabulary: bool, tmp_path: Path) -> None:
    finished(tmp_path, own_vocabulary=own_vocabulary)
    trial = TunedTrial("baseline/1", TASK.name, ARM, tmp_path / "work", tmp_path / "tokens")
    texts = json.loads((tmp_path / "work" / predictions_file("dev")).read_text())
    assert texts_of(trial, [pair.first for pair in pairs(12, 3)], Search(1, 0.0, 5), "sources.txt") == texts
    saved = (tmp_path / "work" / generated_texts.SOURCE_ENCODER / "tokenizer.json").exists()
    assert saved == own_vocabulary


TRANSLATION = find_task("multi30k_de_en")


SOURCES = {"train": ("ein haus", "das haus"), "val": ("ein baum", "ein hof"), "test_2016_flickr": ("wald", "see")}


def data(root: Path) -> Path:
    folder = root / "mt" / "multi30k"
    folder.mkdir(parents=True)
    for part, lines in SOURCES.items():
        for side, texts in (("de", lines), ("en", ("w1 w2", "w3"))):
            with gzip.open(folder / f"{part}.{side}.gz", "wt", encoding="utf-8") as file:
                file.write("".join(f"{text}\n" for text in texts))
    return root


def computed(root: Path, tokenizer: TokenizerDeclaration | None, size: int | None) -> Path:
    """Compute the stage of the examples in a folder, and return the folder."""
    published = FolderOfTasks(path=str(data(root / "data")))
    assert TRANSLATION.files is not None
    stage = ExamplesStage(
        task=TRANSLATION.name, task_version=1,
        train_examples=None, dev_examples=None, sequence_length=6, data=published,
        read=published.inputs(TRANSLATION.files), source_tokenizer=tokenizer, source_vocabulary_size=size,
    )  # fmt: skip
    (root / "tokens").mkdir()
    WORDS.save(root / "tokens")
    (root / "work").mkdir()
    context = StageContext({"tokens": root / "tokens"}, root / "work", ProgressFile(root / "progress.json"))
    examples.compute(ExamplesStage.model_validate_json(stage.model_dump_json()), context)
    return root / "work"


def test_sources_have_the_vocabulary_of_the_training_sources_and_targets_that_of_pretraining(tmp_path: Path) -> None:
    folder = computed(tmp_path, WordOption(), 8)
    tokenizer = load_tokenizer(folder / SOURCE_TOKENIZER)
    assert set(tokenizer.pieces[5:]) == {"ein", "das", "haus"}
    dev = np.load(folder / "dev" / "tokens.npy")
    (ein,) = tokenizer.encode(["ein"])[0]
    start, end, unknown = tokenizer.classify, tokenizer.separate, tokenizer.unknown
    assert dev[:, :4].tolist() == [[start, ein, unknown, end]] * 2, "words of dev alone are unknown"
    targets = np.load(folder / "dev" / "targets.npy")
    assert targets[0, :3].tolist() == [*WORDS.encode(["w1 w2"])[0], WORDS.separate]


@pytest.mark.parametrize(
    ("tokenizer", "size", "reason"),
    [
        (WordOption(), 20, "the corpus gives 8 pieces"),
        (WordPieceTraining(), 6, "7 pieces at least, vocabulary_size is 6; write 7 or more"),
        (WordOption(), 5, "with vocabulary_size 5 every word is unknown; enlarge it"),
    ],
)
def test_a_vocabulary_that_cannot_be_learned_is_refused(
    tokenizer: TokenizerDeclaration, size: int, reason: str, tmp_path: Path
) -> None:
    with pytest.raises(DataError, match=reason) as refused:
        computed(tmp_path, tokenizer, size)
    (line,) = refused.value.lines
    assert line.startswith("multi30k_de_en: generation.source_encoder learns its vocabulary from 2 sources")


def test_stages_of_the_experiment_differ_by_their_encoders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(data(tmp_path)))
    experiment = experiment_of("bart/translation.yaml", "smoke")
    shared = shared_stages(experiment)
    of_examples = {task: stage.declaration for task, stage in shared.examples.items()}
    assert all(isinstance(each, ExamplesStage) for each in of_examples.values())
    assert of_examples["multi30k_de_en"].source_tokenizer is None  # type: ignore[attr-defined]
    assert of_examples["two_stages"].source_vocabulary_size == 500  # type: ignore[attr-defined]
    stages = trial_stages(experiment, shared, experiment.baseline, 1)
    tuned = {task: stages[f"{task}#1"] for task in experiment.fine_tuning.tasks}
    assert len({stage.key for stage in tuned.values()}) == len(tuned) == 4
    declared = tuned["first_stage"].declaration
    assert isinstance(declared, FineTuneStage)
    assert isinstance(declared.architecture, EncoderDecoderArchitecture)
    assert declared.generation.source_encoder is not None
    source = declared.generation.source_encoder.architecture(declared.architecture, 500)
    first, whole = (update_flops(declared.architecture, source, 32, first_stage=each) for each in (True, False))
    assert stage_flops(tuned["first_stage"]) == 4 * 64 * first + 16 * whole / 3
    assert stage_flops(tuned["one_stage"]) == 4 * 64 * whole + 16 * whole / 3
    assert stage_flops(tuned["two_stages"]) == pytest.approx(2 * 64 * (first + whole) + 16 * whole / 3)


DEPTH = 3


ARCHITECTURE = Architecture(
    depth=DEPTH, width=16, embedding_width=8, heads=2, feed_forward_width=24, vocabulary_size=40,
    visibility="left_to_right", normalisation=PreNorm(),
)  # fmt: skip


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a checkpoint of a language model far from its initial weights."""
    candidate = Candidate(architecture=ARCHITECTURE, objective=LanguageModel())
    model = build_model(candidate, None, 1)
    stir(model)
    folder = tmp_path_factory.mktemp("checkpoint") / "checkpoint"
    save_checkpoint(folder, model, build_optimiser(model, candidate.recipe), {})
    return folder


def stage(layers: int | None, output_layer: OutputLayerOption | None = None) -> FineTuneStage:
    return FineTuneStage(
        architecture=ARCHITECTURE, task="docs_pair", pretraining_seed=1, seed=1, transferred_layers=layers,
        output_layer=output_layer, language_model_weight=0.5 if output_layer else 0.0,
    )  # fmt: skip


def loaded(checkpoint: Path, layers: int | None) -> tuple[Encoder, Encoder, Encoder]:
    """Return the encoder that fine-tuning starts with, the fresh one and the pretrained one."""
    built, fresh, whole = (build_fine_tuned(ARCHITECTURE, "single", 2, "last", 0.0) for _ in range(3))
    for model in (built, fresh):
        initialise(model, 7)
    load_pretrained(stage(layers), checkpoint, built)
    load_pretrained(stage(None), checkpoint, whole)
    return built.encoder, fresh.encoder, whole.encoder


@pytest.mark.parametrize("layers", [0, 1, DEPTH, None])
def test_exactly_the_first_layers_and_the_embeddings_are_copied(checkpoint: Path, layers: int | None) -> None:
    found, fresh, pretrained = (dict(each.named_parameters()) for each in loaded(checkpoint, layers))
    for name, value in found.items():
        copied = name.startswith(("embeddings.", "projection."))
        if name.startswith("blocks."):
            copied = layers is None or int(name.split(".")[1]) < layers
        if name.startswith("final_norm."):
            copied = layers in (None, DEPTH)
        assert torch.equal(value, (pretrained if copied else fresh)[name]), name
        assert not torch.equal(pretrained[name], fresh[name]), "the comparison can fail"


def test_the_output_layer_is_the_pretrained_one(checkpoint: Path) -> None:
    built = build_fine_tuned(ARCHITECTURE, "single", 2, "last", 0.0)
    model = WithLanguageModel(
        built.encoder, built.head, 2, build_output_layer(Transformed(), ARCHITECTURE), weight=0.5
    )
    initialise(model, 7)
    before = {name: value.clone() for name, value in model.output_layer.named_parameters()}
    load_pretrained(stage(None, Transformed()), checkpoint, model)
    assert all(not torch.equal(value, before[name]) for name, value in model.output_layer.named_parameters())
    assert cast("torch.nn.Parameter", model.head.get_parameter("labels.weight")).isfinite().all()

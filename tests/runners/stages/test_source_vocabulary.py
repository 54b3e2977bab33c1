"""The own vocabulary of sources: from training alone, in the key, and refused where nothing can be learned."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from runners.computing import examples
from runners.cost_estimate.flops import stage_flops
from runners.dag import shared_stages, trial_stages
from runners.stages.context import ProgressFile, StageContext
from runners.stages.examples import ExamplesStage
from runners.stages.fine_tune import FineTuneStage
from search_space.encoder_decoder_architecture import EncoderDecoderArchitecture
from search_space.source_encoder import update_flops
from steeplechase.foundation.errors import DataError
from steeplechase.ledger.result_files import SOURCE_TOKENIZER
from steeplechase.tasks.data_folder import VARIABLE
from steeplechase.tasks.dataset_folder import FolderOfTasks
from steeplechase.tasks.downstream import find_task
from steeplechase.tasks.tokenizer import TokenizerDeclaration, WordOption, WordPieceTraining, load_tokenizer
from tests.factories.experiment_files import experiment_of
from tests.factories.small_experiments import WORDS

TASK = find_task("multi30k_de_en")
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
    assert TASK.files is not None
    stage = ExamplesStage(
        task=TASK.name, task_version=1, train_examples=None, dev_examples=None, sequence_length=6, data=published,
        read=published.inputs(TASK.files), source_tokenizer=tokenizer, source_vocabulary_size=size,
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

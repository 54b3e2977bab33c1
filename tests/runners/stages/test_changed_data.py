"""Data that changed after the stage's key was computed is an error, although it can be read."""

import json
import random
from pathlib import Path

import pytest

from runners.stages.context import ProgressFile, StageContext
from runners.stages.corpus import CorpusStage
from runners.stages.examples import ExamplesStage
from steeplechase.foundation.errors import ConflictError
from steeplechase.tasks.corpora.text_files import TextFilesCorpus
from steeplechase.tasks.dataset_folder import FolderOfTasks
from steeplechase.tasks.downstream import find_task


def write_texts(path: Path, seed: int) -> None:
    generator = random.Random(seed)
    texts = (" ".join("".join(generator.choices("abcdefgh", k=6)) for _ in range(60)) for _ in range(400))
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))


def test_a_text_that_changes_between_its_key_and_its_reading_is_an_error(tmp_path: Path) -> None:
    write_texts(tmp_path / "text.jsonl", 1)
    text = TextFilesCorpus(path=str(tmp_path / "text.jsonl"))
    stage = CorpusStage(corpus=text, read=text.inputs())
    for folder in ("first", "second"):
        (tmp_path / folder).mkdir()
    progress = ProgressFile(tmp_path / "progress.json")
    assert stage.compute(StageContext({}, tmp_path / "first", progress))["corpus"] == "text_files"
    write_texts(tmp_path / "text.jsonl", 2)
    with pytest.raises(ConflictError, match="changed after the run began"):
        stage.compute(StageContext({}, tmp_path / "second", progress))


def test_files_of_a_task_that_change_between_their_key_and_their_reading_are_an_error(tmp_path: Path) -> None:
    for part in ("train", "dev"):
        (tmp_path / f"{part}.tsv").write_text("gj04\t1\t\tA sentence.\ngj04\t0\t*\tAnother a sentence.\n")
    task, data = find_task("cola"), FolderOfTasks(path=str(tmp_path))
    assert task.files is not None
    stage = ExamplesStage(
        task="cola",
        task_version=1,
        train_examples=None,
        dev_examples=None,
        sequence_length=16,
        data=data,
        read=data.inputs(task.files),
    )
    assert len(stage.examples(None).train) == 2
    (tmp_path / "dev.tsv").write_text("gj04\t1\t\tOne more sentence.\n")
    with pytest.raises(ConflictError, match="the files of cola changed after the run began"):
        stage.examples(None)

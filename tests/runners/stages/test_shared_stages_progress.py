"""Shared stages: phases with counts and shares, seconds without warm-up, data that change meanwhile."""

import json
import random
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

from runners.stages.context import ProgressFile, StageContext, read_progress
from runners.stages.corpus import CorpusStage
from runners.stages.examples import ExamplesStage
from runners.stages.stage import Job, Stage
from runners.stages.tokens import TokensStage
from search_space.objective import EntityReplacement
from search_space.packing.mentions import MentionSequences
from steeplechase.foundation.errors import ConflictError, DataError
from steeplechase.ledger.stage_results.shared import TokensResult
from steeplechase.tasks.corpora.assembly import assemble
from steeplechase.tasks.corpora.text_files import TextFilesCorpus
from steeplechase.tasks.dataset_folder import FolderOfTasks
from steeplechase.tasks.downstream import find_task
from steeplechase.tasks.lexicon.supersenses import Lexicon, read_token_senses
from steeplechase.tasks.mentions.declaration import Gazetteer
from steeplechase.tasks.packing import open_split
from steeplechase.tasks.progress import silent
from steeplechase.tasks.tokenizer import WordOption, WordPieceTraining, load_tokenizer
from tests.factories.paths import ROOT

WORDS = ["".join(letters) for letters in product("bdfgklmnprst", "aeiou", "bdfgklmnprst", "aeiou")]


class RecordedProgress(ProgressFile):
    """Progress that records every call."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.calls: list[tuple[str, float]] = []

    def __call__(
        self, what: str, share: float, loss: float | None = None, speed: float | None = None, peak: int | None = None
    ) -> None:
        self.calls.append((what, share))
        super().__call__(what, share, loss, speed, peak)


def test_supersenses_and_mentions_are_stored_beside_the_tokens(tmp_path: Path) -> None:
    (tmp_path / "corpus").mkdir()
    generator = random.Random(1)
    texts = [" ".join(generator.choices([*WORDS[:200], "Anna", "Bert", "Oslo"], k=40)) for _ in range(400)]
    (tmp_path / "texts.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    (tmp_path / "names.tsv").write_text("Anna\tQ1\tperson\nBert\tQ2\tperson\nOslo\tQ3\tplace\n")
    (tmp_path / "lexicon.tsv").write_text("anna\tnoun.person\noslo\tnoun.location\n")
    assemble(TextFilesCorpus(path=str(tmp_path / "texts.jsonl")), tmp_path / "corpus", silent)
    stage = TokensStage(
        tokenizer=WordOption(),
        read=None,
        vocabulary_size=208,
        lexicon=Lexicon(path=str(tmp_path / "lexicon.tsv")),
        mentions=Gazetteer(path=str(tmp_path / "names.tsv")),
    )
    progress = RecordedProgress(tmp_path / "progress.json")
    result = stage.compute(StageContext({"corpus": tmp_path / "corpus"}, tmp_path, progress))
    vocabulary = load_tokenizer(tmp_path)
    assert TokensResult.model_validate_json(json.dumps(result)).mentions is not None
    allowed = read_token_senses(tmp_path)
    assert {vocabulary.pieces[token] for token in allowed.any(axis=1).nonzero()[0]} == {"anna", "oslo"}
    split = open_split(tmp_path, "train", vocabulary, 32, EntityReplacement())
    sequences = split.at(0, 64, 1)
    assert isinstance(sequences, MentionSequences)
    spelled = [
        vocabulary.pieces[sequences.tokens[row, start]]
        for row, mentions in enumerate(sequences.mentions)
        for start, _, entity in mentions
        if entity >= 0
    ]
    assert {*spelled} == {"anna", "bert", "oslo"}
    assert result["mentions"]["train"]["without_other"] > 0  # type: ignore[call-overload, index]


def test_a_vocabulary_to_which_all_of_the_text_is_unknown_is_refused(tmp_path: Path) -> None:
    (tmp_path / "corpus").mkdir()
    generator = random.Random(1)
    texts = [" ".join(generator.choices(WORDS, k=40)) for _ in range(400)]
    (tmp_path / "texts.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    assemble(TextFilesCorpus(path=str(tmp_path / "texts.jsonl")), tmp_path / "corpus", silent)
    stage = TokensStage(tokenizer=WordPieceTraining(), read=None, vocabulary_size=6)
    context = StageContext({"corpus": tmp_path / "corpus"}, tmp_path, RecordedProgress(tmp_path / "progress.json"))
    with pytest.raises(DataError, match=r"all [0-9,]+ words of the train split are unknown.*vocabulary_size is 6"):
        stage.compute(context)


def test_a_folder_in_the_place_of_a_progress_file_fails_no_stage_and_is_left_alone(tmp_path: Path) -> None:
    for place in ("key.json", ".other.json.writing"):
        (tmp_path / place).mkdir()
        (tmp_path / place / "file").write_text("kept")
    for name in ("key.json", "other.json"):
        ProgressFile(tmp_path / name)("training", 0.5)
        assert read_progress(tmp_path / name) is None
    assert [path.read_text() for path in tmp_path.glob("*/file")] == ["kept", "kept"]


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


SLOW_IMPORT = 100.0


COMPUTE_TWICE = """
import json, sys, time
now = [0.0]
time.monotonic = lambda: now[0]

class SlowImport:
    def find_spec(self, name, path=None, target=None):
        now[0] += float(sys.argv[1]) * (name == "runners.stages.corpus")

sys.meta_path.insert(0, SlowImport())
from runners.computing.execute import execute
from runners.stages.stage import Job
for line in sys.stdin:
    outcome = execute(Job(**json.loads(line)))
    print(json.dumps([outcome.seconds, outcome.warm_up_seconds]))
"""


def job(folder: Path, name: str) -> Job:
    text = folder / name
    text.mkdir(parents=True)
    words = random.Random(name)
    for number in range(400):  # documents without common text, so that none is a duplicate
        (text / f"{number}.txt").write_text(" ".join(f"{words.getrandbits(40):x}" for _ in range(100)))
    corpus = TextFilesCorpus(kind="text_files", path=str(text))
    return Job.of(Stage(CorpusStage(corpus=corpus, read=corpus.inputs())), str(folder / "stages"))


def measured(jobs: list[Job]) -> list[list[float | None]]:
    """Return the seconds and the warm-up seconds of each job, computed consecutively by a new process."""
    lines = "".join(json.dumps(vars(each)) + "\n" for each in jobs)
    command = [sys.executable, "-c", COMPUTE_TWICE, str(SLOW_IMPORT)]
    done = subprocess.run(command, input=lines, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_imports_are_no_part_of_the_seconds_of_the_first_stage(tmp_path: Path) -> None:
    first, second = measured([job(tmp_path, "first"), job(tmp_path, "second")])
    assert first == second == [0.0, SLOW_IMPORT]


def test_a_resumed_stage_has_no_warm_up_seconds(tmp_path: Path) -> None:
    one = job(tmp_path, "text")
    unfinished = Path(one.store) / "unfinished" / one.key
    unfinished.mkdir(parents=True)
    (unfinished / "left").write_text("by a run that was killed")
    assert measured([one]) == [[0.0, None]]

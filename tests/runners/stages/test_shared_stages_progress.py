"""Progress of shared stages: the phases, each with its count and its share."""

import json
import random
from itertools import product
from pathlib import Path

import pytest

from runners.stages.context import ProgressFile, StageContext, read_progress
from runners.stages.tokens import TokensStage
from search_space.objective import EntityReplacement
from search_space.packing.mentions import MentionSequences
from steeplechase.foundation.errors import DataError
from steeplechase.ledger.stage_results.shared import TokensResult
from steeplechase.tasks.corpora.assembly import assemble
from steeplechase.tasks.corpora.text_files import TextFilesCorpus
from steeplechase.tasks.lexicon.supersenses import Lexicon, read_token_senses
from steeplechase.tasks.mentions.declaration import Gazetteer
from steeplechase.tasks.packing import open_split
from steeplechase.tasks.progress import silent
from steeplechase.tasks.tokenizer import WordOption, WordPieceTraining, load_tokenizer

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

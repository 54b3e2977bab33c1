"""Progress of shared stages: the phases, each with its count and its share."""

import json
import math
import random
from itertools import groupby, product
from pathlib import Path

from runners.stages import tokens
from runners.stages.context import StageContext
from runners.stages.declarations import TokensStage
from runners.stages.progress import ProgressFile
from tasks.corpora.assembly import assemble
from tasks.corpora.text_files import TextFilesCorpus
from tasks.progress import silent
from tasks.tokenizer import WordPieceTraining

WORDS = ["".join(letters) for letters in product("bdfgklmnprst", "aeiou", "bdfgklmnprst", "aeiou")]


class RecordedProgress(ProgressFile):
    """Progress that records every call."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.calls: list[tuple[str, float]] = []

    def __call__(self, what: str, share: float, loss: float | None = None, speed: float | None = None) -> None:
        self.calls.append((what, share))
        super().__call__(what, share, loss, speed)


def test_the_phases_of_the_tokens_stage_count_their_texts(tmp_path: Path) -> None:
    (tmp_path / "corpus").mkdir()
    generator = random.Random(1)
    texts = [" ".join(generator.choices(WORDS, k=40)) for _ in range(400)]
    (tmp_path / "texts.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    summary = assemble(TextFilesCorpus(path=str(tmp_path / "texts.jsonl")), tmp_path / "corpus", silent)
    progress = RecordedProgress(tmp_path / "progress.json")
    stage = TokensStage(tokenizer=WordPieceTraining(), read=None, vocabulary_size=300)
    result = tokens.compute(stage, StageContext({"corpus": tmp_path / "corpus"}, tmp_path, progress))
    assert 0 < result["validation_unigram_entropy"] < math.log(300)  # type: ignore[operator]
    train = summary.splits["train"].documents
    phases = [(phase, [*found]) for phase, found in groupby(progress.calls, lambda one: one[0].partition(":")[0])]
    assert [phase for phase, _ in phases] == ["reading the training split", "training the vocabulary", "tokenizing"]
    assert phases[0][1][-1] == (f"reading the training split: text {train:,} of {train:,}", 1.0)
    assert phases[1][1] == [(f"training the vocabulary: {train:,} texts", 0.0)]
    assert phases[2][1][0] == (f"tokenizing: text 0 of {train:,}", 0.0)

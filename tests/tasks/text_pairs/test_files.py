"""Files of sources and targets: published counts, every mistake of a file at once, and what a model reads of them."""

import gzip
import json
import re
from pathlib import Path

import numpy as np
import pytest

from steeplechase.foundation.errors import CorruptionError, DataError
from steeplechase.tasks.dataset_folder import FolderOfTasks
from steeplechase.tasks.downstream import find_task
from steeplechase.tasks.labelled.forms import encode_text_pairs, load_text_pairs, save_text_pairs
from steeplechase.tasks.labelled.task import Example, Examples
from steeplechase.tasks.references.most_frequent import lead_scores, round_trip_scores
from tests.factories.published_data import ROOT, published
from tests.factories.small_experiments import WORDS
from tests.factories.task_files import files_of
from tests.factories.tokenizers import trained


@pytest.mark.parametrize("name", ["multi30k_de_en", "multi30k_en_de"])
def test_multi30k_has_its_published_counts_and_its_sides(name: str) -> None:
    folder = published("mt/multi30k")
    files = files_of(name)
    source = FolderOfTasks(path=str(folder))
    parts = source.parts(files)
    assert {part: len(each.examples) for part, each in parts.items()} == {"train": 29000, "dev": 1014, "test": 1000}
    first = parts["train"].examples[0]
    german = "Zwei junge weiße Männer sind im Freien in der Nähe vieler Büsche."
    english = "Two young, White males are outside near many bushes."
    assert (first.first, first.second) == ((german, english) if name == "multi30k_de_en" else (english, german))
    inputs = source.inputs(files)
    assert isinstance(inputs, dict)
    assert len({*inputs.values()}) == len(inputs) == 6, "both files of every part are in the key"


def test_ten_rows_of_xsum_have_one_sentence_each() -> None:
    lines = (published("metrics/xsum").parents[1] / "summarization/xsum_sample/sample.json").read_text().splitlines()
    rows = [json.loads(line) for line in lines if line.strip()]
    assert len(rows) == 10
    assert {"document", "summary"} <= rows[0].keys()


def written(folder: Path, sources: str, targets: str) -> Path:
    (folder / "multi30k").mkdir()
    for part in ("train", "val"):
        for language, text in (("de", sources), ("en", targets)):
            with gzip.open(folder / "multi30k" / f"{part}.{language}.gz", "wt", encoding="utf-8") as file:
                file.write(text)
    return folder


def test_a_missing_target_file_is_refused(tmp_path: Path) -> None:
    files = files_of("multi30k_de_en")
    folder = written(tmp_path, "eins\n", "one\n")
    (folder / "multi30k" / "val.en.gz").unlink()
    with pytest.raises(DataError, match=r"no val\.en\.gz"):
        FolderOfTasks(path=str(folder)).inputs(files)


def test_pairs_are_encoded_with_their_ends_and_come_back(tmp_path: Path) -> None:
    words = [f"w{number}" for number in range(6)]
    examples = [Example(" ".join(words[:4]), words[0]), Example(words[1], " ".join(words))]
    pairs = encode_text_pairs(examples, WORDS, 5)
    assert pairs.targets[0, :2].tolist()[-1] == WORDS.separate
    assert (pairs.targets[0, int(pairs.target_lengths[0]) :] == WORDS.pad).all()
    assert pairs.targets[1, int(pairs.target_lengths[1]) - 1] == WORDS.separate, "a truncated target ends too"
    assert (pairs.sources.truncated, pairs.sources.answers_lost) == (1, 1)
    save_text_pairs(pairs, tmp_path)
    again = load_text_pairs(tmp_path)
    assert np.array_equal(again.targets, pairs.targets)
    assert (again.references, again.source_texts) == (pairs.references, pairs.source_texts)
    (tmp_path / "targets.npy").write_bytes(b"")
    with pytest.raises(CorruptionError):
        load_text_pairs(tmp_path)


def test_the_lead_is_the_beginning_of_the_source() -> None:
    """As many words as a train target has: a task whose targets are such beginnings is solved by it."""
    rows = tuple(Example("one two three four five six seven", "one two three") for _ in range(3))
    assert lead_scores(find_task("xsum"), Examples(rows, rows))["rougeL"] == pytest.approx(100.0)
    assert ROOT.is_dir()


def test_targets_through_a_tokenizer_lose_what_it_drops() -> None:
    targets = (
        "Élan, café — “quotes” …",
        "The dogs' owner (a fox) laughs: 12,345 times!",
        "a text without case of it",
    )
    examples = Examples((), tuple(Example("source", target) for target in targets))
    task = find_task("multi30k_en_de")
    assert round_trip_scores(task, examples, trained("byte_bpe")) == pytest.approx({"bleu": 100.0, "chrf": 100.0})
    lowered = round_trip_scores(task, examples, trained("wordpiece"))
    written = [
        "elan, cafe — “quotes” …",
        "the dogs' owner (a fox) laughs: 12,345 times!",
        "a text without case of it",
    ]
    assert written == [target.lower().replace("é", "e") for target in targets]
    spaced = [re.sub(r"([^\w\s])", r" \1 ", text) for text in written]
    sacrebleu = pytest.importorskip("sacrebleu")
    assert lowered["bleu"] == pytest.approx(sacrebleu.corpus_bleu(spaced, [list(targets)]).score)
    assert lowered["bleu"] < 80

"""Multiple choice: official layouts of SWAG and CODAH, their mistakes, encoding and the words-only reference."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from steeplechase.foundation.errors import DataError
from steeplechase.tasks.downstream import find_task
from steeplechase.tasks.labelled.encoding import load_examples, save_examples
from steeplechase.tasks.labelled.forms import encode_choices
from steeplechase.tasks.labelled.task import Example, Examples
from steeplechase.tasks.references.bag_of_words import bag_of_words_scores
from tests.factories.published_data import published
from tests.factories.small_experiments import WORDS
from tests.factories.task_files import read_part

HEADER = ["fold-ind", "sent1", "sent2", "gold-source", "ending0", "ending1", "ending2", "ending3", "label"]
ROW = ["3", "A man, old, sits.", "He", "gold", "reads.", "sleeps.", 'says "hi".', "flies.", "2"]


def swag(folder: Path, *rows: Sequence[str], header: Sequence[str] = HEADER, end: str = "\r\n") -> Path:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator=end).writerows([header, *rows])
    (folder / "val.csv").write_text(text.getvalue(), encoding="utf-8", newline="")
    return folder / "val.csv"


def changed(**cells: str) -> list[str]:
    return [cells.get(column, cell) for column, cell in zip(HEADER, ROW, strict=True)]


def test_the_second_sentence_begins_every_ending(tmp_path: Path) -> None:
    (example,) = read_part("swag", swag(tmp_path, ROW)).examples
    assert example.first == "A man, old, sits."
    assert example.endings == ("He reads.", "He sleeps.", 'He says "hi".', "He flies.")
    assert example.label == 2


def test_the_test_file_has_no_labels(tmp_path: Path) -> None:
    path = swag(tmp_path, ROW[:-1], header=HEADER[:-1])
    assert [example.label for example in read_part("swag", path, "test").examples] == [None]


def test_equal_wrong_endings_are_kept_and_an_ambiguous_right_one_is_left_out(tmp_path: Path) -> None:
    part = read_part("swag", swag(tmp_path, changed(ending0="sleeps. "), changed(ending0='says "hi".'), ROW))
    assert [example.row for example in part.examples] == ["0", "2"]
    assert part.left_out == 1


def test_the_published_files_of_codah_are_read_completely() -> None:
    folder = published("multiple_choice/codah/fold_0")
    for part, count in (("train", 1665), ("dev", 556), ("test", 555)):
        found = read_part("codah", folder / f"{part}.tsv", part)
        assert (len(found.examples), found.left_out) == (count, 0)
        assert {example.label for example in found.examples} == {0, 1, 2, 3}


def words(*numbers: int) -> str:
    return " ".join(f"w{number}" for number in numbers)


def test_each_ending_is_a_sequence_with_its_context(tmp_path: Path) -> None:
    examples = [Example(words(1, 2), label=1, row="7", endings=(words(3), words(4, 5), words(6)))]
    encoded = encode_choices(examples, WORDS, 8, 3)
    save_examples(encoded, tmp_path)
    loaded = load_examples(tmp_path)
    assert (len(loaded), loaded.endings, loaded.rows, loaded.labels.tolist()) == (1, 3, ("7",), [1])
    w = WORDS.encode([words(*range(7))])[0]
    special = [WORDS.classify, WORDS.separate, WORDS.pad]
    assert loaded.tokens[1].tolist() == [special[0], w[1], w[2], special[1], w[4], w[5], special[1], special[2]]
    assert loaded.segments[1].tolist() == [0, 0, 0, 0, 1, 1, 1, 0]
    assert loaded.longest.tolist() == [7]
    assert (loaded.truncated, loaded.answers_lost) == (0, 0)


def test_truncation_counts_examples_and_right_endings_that_it_made_equal() -> None:
    long = words(*range(1, 9))
    examples = [
        Example(words(1), label=0, endings=(f"{long} w30", f"{long} w31")),  # differ in the last word alone
        Example(words(1), label=0, endings=(f"w9 {long}", f"{long} w31")),
        Example(words(1), label=0, endings=(words(2), words(3))),
    ]
    encoded = encode_choices(examples, WORDS, 12, 2)
    assert (encoded.truncated, encoded.answers_lost) == (2, 1)
    assert encoded.truncated_share == pytest.approx(2 / 3)


def test_the_bag_of_words_ranks_endings_by_their_words() -> None:
    random = np.random.default_rng(1)

    def example(cue: str) -> Example:
        label = int(random.integers(4))
        others = [words(*random.integers(0, 20, 3)) for _ in range(4)]
        return Example("w1", label=label, endings=(*others[:label], f"{others[label]} {cue}", *others[label + 1 :]))

    task = find_task("codah")
    with_cue = Examples(tuple(example("w30") for _ in range(60)), tuple(example("w30") for _ in range(60)))
    assert bag_of_words_scores(task, with_cue) == {"accuracy": 100.0}
    without = Examples(tuple(example("") for _ in range(400)), tuple(example("") for _ in range(400)))
    scores = bag_of_words_scores(task, without)
    assert scores is not None
    assert abs(scores["accuracy"] - 100 * task.chance) < 9  # four standard deviations of 400 guesses


def test_predictions_of_a_file_are_scored(tmp_path: Path) -> None:
    path = swag(tmp_path, ROW, changed(label="0"))
    (tmp_path / "predictions.txt").write_text("2\n1\n")
    evaluate = find_task("swag").evaluate
    assert evaluate is not None
    assert evaluate(path, tmp_path / "predictions.txt", None).metrics == {"accuracy": 0.5}
    (tmp_path / "predictions.txt").write_text("2\n5\n")
    with pytest.raises(DataError, match="'5' is not a valid prediction; expected 0, 1, 2, 3"):
        evaluate(path, tmp_path / "predictions.txt", None)

"""`score` of generated texts: sacrebleu's own figure, its signature, and one clear line for wrong files."""

import gzip
from pathlib import Path

import pytest

from foundation.errors import DataError
from tasks.downstream import find_task
from tasks.labelled.task import Evaluation
from tasks.text_pair_evaluation import evaluate

TASK = find_task("multi30k_de_en")
SOURCES = ["Ein Hund läuft .", "Zwei Katzen schlafen ."]
TARGETS = ["A dog runs through the wet grass.", "Two cats sleep on the warm stones."]
TEXTS = ["A dog runs through the grass.", "Two cats are sleeping on the stones."]


def folder(parent: Path) -> Path:
    """Return a data folder with two pairs in the train and in the dev part of the task."""
    assert TASK.files is not None
    place = parent / "mt" / "multi30k"
    place.mkdir(parents=True)
    for part in ("train", "dev"):
        for name, lines in ((TASK.files.parts[part], SOURCES), (TASK.files.beside[part], TARGETS)):
            with gzip.open(place / name, "wt", encoding="utf-8") as file:
                file.write("\n".join(lines) + "\n")
    return parent


def scored(parent: Path, texts: list[str]) -> Evaluation:
    predictions = parent / "texts.txt"
    predictions.write_text("\n".join(texts) + "\n", encoding="utf-8")
    return evaluate(TASK, folder(parent), predictions)


def test_the_metrics_are_sacrebleus(tmp_path: Path) -> None:
    sacrebleu = pytest.importorskip("sacrebleu")
    found = scored(tmp_path, TEXTS)
    assert found.metrics["bleu"] == pytest.approx(sacrebleu.corpus_bleu(TEXTS, [TARGETS]).score)
    assert found.metrics["chrf"] == pytest.approx(sacrebleu.corpus_chrf(TEXTS, [TARGETS]).score)
    assert any("tok:13a" in remark for remark in found.remarks)


def test_references_as_predictions_have_the_best_score(tmp_path: Path) -> None:
    assert scored(tmp_path, TARGETS).metrics["bleu"] == pytest.approx(100.0)


def test_the_file_of_another_part_is_scored_with_its_own_targets(tmp_path: Path) -> None:
    assert TASK.files is not None
    place = folder(tmp_path) / "mt" / "multi30k"
    for of in (TASK.files.parts, TASK.files.beside):
        (place / of["dev"]).rename(place / of["test"])
    predictions = tmp_path / "texts.txt"
    predictions.write_text("\n".join(TARGETS), encoding="utf-8")
    assert evaluate(TASK, place / TASK.files.parts["test"], predictions).metrics["bleu"] == pytest.approx(100.0)


@pytest.mark.parametrize("texts", [TEXTS[:1], [*TEXTS, "one too many"]])
def test_another_number_of_texts_is_refused(tmp_path: Path, texts: list[str]) -> None:
    with pytest.raises(DataError, match=rf"{len(texts)} texts, one a line; .* has 2"):
        scored(tmp_path, texts)


def test_a_missing_folder_says_what_is_needed(tmp_path: Path) -> None:
    (tmp_path / "texts.txt").write_text("a\n", encoding="utf-8")
    with pytest.raises(DataError, match="multi30k"):
        evaluate(TASK, tmp_path, tmp_path / "texts.txt")

"""Metrics of generated texts: those of the official scorers, their intervals, their files and their libraries."""

import gzip
import json
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pytest

from steeplechase.commands.score import score_texts
from steeplechase.foundation.errors import DataError, MachineError
from steeplechase.tasks import text_metrics
from steeplechase.tasks.downstream import find_task
from steeplechase.tasks.labelled.task import Evaluation
from steeplechase.tasks.text_metrics import LIBRARIES, MODULES, RESAMPLES, refuse_missing_libraries, text_scores
from steeplechase.tasks.text_metrics.rouge import f1_of_texts
from tests.factories.published_data import published


def lines_of(archive: Path, ending: str) -> list[str]:
    with tarfile.open(archive) as opened:
        (name,) = (each for each in opened.getnames() if each.endswith(ending))
        file = opened.extractfile(name)
        assert file is not None
        return file.read().decode().split("\n")[:-1]


def systems() -> Iterator[tuple[dict[str, float], list[str], list[str]]]:
    folder = published("metrics/sacrebleu")
    archive = folder / "wmt17_en_de_systems.tar.xz"
    references = lines_of(archive, "ref.0.txt")
    for expected in json.loads((folder / "expected.json").read_text())["scores"]:
        yield expected, lines_of(archive, f"{expected['system']}.txt"), references


def test_bleu_and_chrf_are_those_of_the_official_scorer() -> None:
    expected, texts, references = next(systems())
    found = text_scores(("bleu", "chrf"), texts, references)
    assert found["bleu"].value == pytest.approx(expected["bleu_13a"], abs=1e-9)
    assert found["chrf"].value == pytest.approx(expected["chrf"], abs=1e-9)
    assert all(score.interval[0] < score.value < score.interval[1] for score in found.values())
    assert found["bleu"].signature.startswith("nrefs:1|bs:1000|seed:12345|case:mixed|eff:no|tok:13a|smooth:exp")
    assert found["chrf"].signature.startswith("nrefs:1|bs:1000|seed:12345|case:mixed|eff:yes|nc:6|nw:0|space:no")


@pytest.mark.parametrize("seed", ["7", "none"])
def test_intervals_have_the_seed_of_their_signature_whatever_the_environment(
    seed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts, references = (
        ["a cat sat here", "two dogs ran off", "no words"],
        ["a cat sat there", "two dogs ran", "none"],
    )
    expected = text_scores(("bleu", "chrf"), texts, references)
    monkeypatch.setenv("SACREBLEU_SEED", seed)
    assert text_scores(("bleu", "chrf"), texts, references) == expected
    assert os.environ["SACREBLEU_SEED"] == seed


@pytest.mark.slow
def test_rouge_is_that_of_the_official_scorer() -> None:
    system = "lead"
    folder = published("metrics/xsum")
    archive, metrics = folder / "xsum-model-predictions.tar.xz", ("rouge1", "rouge2", "rougeL")
    expected = json.loads((folder / "expected_rouge.json").read_text())[system]["nostem"]
    texts, gold = lines_of(archive, f"{system}-test-output.txt"), lines_of(archive, "gold-test-sentences.txt")
    found = f1_of_texts(metrics, texts, gold, stemmed=False)
    for metric in metrics:
        assert sum(found[metric]) / len(texts) == pytest.approx(expected[metric][2], abs=1e-9)


def test_rouge_of_hand_cases() -> None:
    """Lin 2004, section 3.1: police killed the gunman; and a text equal to its reference, and one without overlap."""
    reference = "police killed the gunman"
    texts = ["police kill the gunman", "the gunman kill police", reference, "nothing here"]
    found = f1_of_texts(("rouge1", "rougeL"), texts, [reference] * 4, stemmed=False)
    assert found["rougeL"] == pytest.approx([75.0, 50.0, 100.0, 0.0])
    assert found["rouge1"][:2] == pytest.approx([75.0, 75.0])


@pytest.mark.parametrize("metric", LIBRARIES)
def test_references_score_100_and_other_texts_0(metric: str) -> None:
    references = ["the cat sat on the mat by the door", "one two three four five six"]
    assert text_scores((metric,), references, references)[metric].value == pytest.approx(100.0)
    assert text_scores((metric,), ["", ""], references)[metric].value == pytest.approx(0.0, abs=1e-9)


def test_numbers_of_texts_must_agree() -> None:
    with pytest.raises(ValueError, match="1 predictions for 2 references"):
        text_scores(("bleu",), ["one"], ["one", "two"])
    with pytest.raises(ValueError, match="0 predictions for 0 references"):
        text_scores(("bleu",), [], [])


@pytest.mark.parametrize("name", ["bleu", "chrf"])
@pytest.mark.parametrize("written", ["yyy", "on", "the rat", "the cat sat on the mat"])
def test_that_interval_is_the_one_of_every_resample_scored_by_itself_and_texts_are_counted_a_few_times(
    name: str, written: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    metrics = pytest.importorskip("sacrebleu.metrics")
    text, kind = "the cat sat on the mat", {"bleu": metrics.BLEU, "chrf": metrics.CHRF}[name]
    predictions, references = ["zzz"] * 5 + [written], [written] * 5 + [text]
    drawn = np.random.default_rng(12345).choice(6, size=(RESAMPLES, 6), replace=True)
    texts = (([predictions[at] for at in places], [[references[at] for at in places]]) for places in drawn)
    alone = sorted(float(kind().corpus_score(*each).score) for each in texts)
    counted, count = [0], kind._compute_segment_statistics

    def counting(self: Any, *arguments: Any) -> Any:
        counted[0] += 1
        return count(self, *arguments)

    monkeypatch.setattr(kind, "_compute_segment_statistics", counting)
    low, high = text_scores((name,), predictions, references)[name].interval
    spread = (alone[-1 - RESAMPLES // 40] - alone[RESAMPLES // 40]) / 2
    expected = (max(0.0, fmean(alone) - spread), min(100.0, fmean(alone) + spread))
    assert (low, high) == pytest.approx(expected, abs=1e-4)
    assert counted[0] <= 3 * len(predictions)


def test_every_library_is_known_and_exact_match_needs_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(MODULES) < set(LIBRARIES.values())
    monkeypatch.setattr(text_metrics, "find_spec", lambda name: None)
    refuse_missing_libraries(["exact_match"])


@pytest.mark.parametrize("metric", [metric for metric, file in LIBRARIES.items() if file in MODULES])
def test_a_missing_library_is_named_with_the_command_that_installs_it(
    metric: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_metrics, "find_spec", lambda name: None)
    for call in (lambda: refuse_missing_libraries([metric]), lambda: text_scores([metric], ["a"], ["a"])):
        with pytest.raises(MachineError, match=rf"{metric}: needs the extra `texts`; run: pip install"):
            call()


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
    return score_texts(TASK, folder(parent), predictions)


def test_the_file_of_another_part_is_scored_with_its_own_targets(tmp_path: Path) -> None:
    assert TASK.files is not None
    place = folder(tmp_path) / "mt" / "multi30k"
    for of in (TASK.files.parts, TASK.files.beside):
        (place / of["dev"]).rename(place / of["test"])
    predictions = tmp_path / "texts.txt"
    predictions.write_text("\n".join(TARGETS), encoding="utf-8")
    assert score_texts(TASK, place / TASK.files.parts["test"], predictions).metrics["bleu"] == pytest.approx(100.0)


@pytest.mark.parametrize("texts", [TEXTS[:1], [*TEXTS, "one too many"]])
def test_another_number_of_texts_is_refused(tmp_path: Path, texts: list[str]) -> None:
    with pytest.raises(DataError, match=rf"{len(texts)} texts, one a line; .* has 2"):
        scored(tmp_path, texts)


def test_a_missing_folder_says_what_is_needed(tmp_path: Path) -> None:
    (tmp_path / "texts.txt").write_text("a\n", encoding="utf-8")
    with pytest.raises(DataError, match="multi30k"):
        score_texts(TASK, tmp_path, tmp_path / "texts.txt")

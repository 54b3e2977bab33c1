"""Encoded examples decode to their texts; scores equal those of scikit-learn and of SQuAD's official script."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef

from steeplechase.foundation.errors import CorruptionError
from steeplechase.tasks.corpora.document import Document
from steeplechase.tasks.downstream import find_task, task_names
from steeplechase.tasks.labelled.encoding import encode_examples, load_examples, save_examples
from steeplechase.tasks.labelled.scoring import example_scores, score
from steeplechase.tasks.labelled.task import Example
from steeplechase.tasks.metrics import accuracy, exact_match, f1, macro_f1, matthews, overlap_f1
from steeplechase.tasks.tokenizer import Tokenizer

LABELS = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=50)


@pytest.mark.parametrize("name", [name for name in task_names() if find_task(name).build])
def test_rows_are_cls_first_sep_second_sep_and_padding(
    name: str, test_documents: list[Document], tokenizer: Tokenizer
) -> None:
    task = find_task(name)
    assert task.build is not None
    examples = task.build(test_documents, 120, 40).train
    encoded = encode_examples(examples, task.form, tokenizer, 160)
    for row, segments, length, example in zip(
        encoded.tokens, encoded.segments, encoded.lengths, examples, strict=True
    ):
        texts = [example.first] if example.second is None else [example.first, example.second]
        expected = [tokenizer.classify]
        for tokens in tokenizer.encode(texts):
            expected += [*tokens, tokenizer.separate]
        if len(expected) <= 160:
            assert row[:length].tolist() == expected
        assert (row[length:] == tokenizer.pad).all()
        assert (row[:length] != tokenizer.pad).all()
        assert segments.sum() == (0 if example.second is None else length - 1 - list(row).index(tokenizer.separate))
        assert row[length - 1] == tokenizer.separate


def test_a_span_decodes_to_its_answer_and_saves_and_loads(
    test_documents: list[Document], tokenizer: Tokenizer, tmp_path: Path
) -> None:
    task = find_task("docs_answer")
    assert task.build is not None
    examples = task.build(test_documents, 120, 40).train
    encoded = encode_examples(examples, "span", tokenizer, 256)
    assert encoded.answers_lost == 0
    save_examples(encoded, tmp_path)
    loaded = load_examples(tmp_path)
    assert isinstance(loaded.tokens, np.memmap)
    for index, example in enumerate(examples):
        text = loaded.answer_text(index, int(loaded.starts[index]), int(loaded.ends[index]))
        assert text == example.answer_text == loaded.answers[index]
    texts = [loaded.answer_text(i, int(loaded.starts[i]), int(loaded.ends[i])) for i in range(len(loaded))]
    assert score(task, texts, loaded.answers) == {"f1": 100.0, "exact_match": 100.0}


def test_long_texts_are_truncated_and_counted(tokenizer: Tokenizer) -> None:
    example = Example("axis", "x : the first value\naxis : the last one of them", answer=(27, 47))
    encoded = encode_examples([example], "span", tokenizer, 9)
    assert (encoded.truncated, encoded.answers_lost) == (1, 1)
    assert (encoded.starts[0], encoded.ends[0]) == (0, 0)
    assert encoded.answer_text(0, 0, 0) == ""
    pair = encode_examples([Example("a " * 50, "b", 1), Example("a", "b " * 50, 0)], "pair", tokenizer, 12)
    assert pair.lengths.tolist() == [12, 12]
    assert pair.truncated_share == 1.0
    assert pair.segments.sum(axis=1).tolist() == [2, 9]
    with pytest.raises(ValueError, match="no room"):
        encode_examples([example], "span", tokenizer, 4)


@pytest.mark.parametrize("answer", ["value ", "value\u200b", "valuee\u0301", "\tvalue"])
def test_an_answer_whose_outer_characters_have_no_token_is_whole(answer: str, tokenizer: Tokenizer) -> None:
    before, behind = "the ", " of them"
    example = Example("axis", before + answer + behind, answer=(len(before), len(before + answer)))
    encoded = encode_examples([example], "span", tokenizer, 64)
    found = encoded.answer_text(0, int(encoded.starts[0]), int(encoded.ends[0]))
    assert found == answer.strip().rstrip("\u200b\u0301")
    assert encoded.answers_lost == 0


def test_single_sentences_save_and_load_without_spans(tokenizer: Tokenizer, tmp_path: Path) -> None:
    encoded = encode_examples([Example("the mean", label=1)], "single", tokenizer, 16)
    save_examples(encoded, tmp_path)
    loaded = load_examples(tmp_path)
    assert loaded.labels.tolist() == [1]
    assert loaded.tokens.tolist() == encoded.tokens.tolist()
    (tmp_path / "tokens.npy").write_bytes(b"nothing")
    with pytest.raises(CorruptionError):
        load_examples(tmp_path)


@given(st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), min_size=1, max_size=300))
def test_counted_metrics_equal_scikit_learns_to_the_last_bit(pairs: list[tuple[int, int]]) -> None:
    predictions, references = [list(side) for side in zip(*pairs, strict=True)]
    assert accuracy(predictions, references) == accuracy_score(references, predictions)
    assert macro_f1(predictions, references) == f1_score(references, predictions, average="macro", zero_division=0.0)
    of_label_1 = f1_score(references, predictions, labels=[1], average=None, zero_division=0.0)[0]
    assert f1(predictions, references) == of_label_1
    if min(len(set(predictions)), len(set(references))) > 1:
        assert matthews(predictions, references) == matthews_corrcoef(references, predictions)


def test_constant_predictions_give_zero_and_no_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert matthews([1, 1, 1], [0, 1, 1]) == matthews([0, 1], [1, 1]) == 0.0


def test_scores_equal_values_computed_by_hand() -> None:
    # true positives 2, true negatives 1, false positives 1, false negatives 0: (2·1 - 1·0) / sqrt(3·2·2·1)
    assert matthews([1, 1, 1, 0], [1, 1, 0, 0]) == pytest.approx(2 / 12**0.5)
    assert overlap_f1("the cat sat", "A cat, sat down") == pytest.approx(0.8)  # precision 2/2, recall 2/3
    assert exact_match("The  cat!", "cat") == 1.0
    assert overlap_f1("", "cat") == 0.0
    assert overlap_f1("the", "a") == 1.0


@given(LABELS)
def test_the_mean_of_example_scores_is_the_accuracy(pairs: list[tuple[int, int]]) -> None:
    predictions, references = map(list, zip(*pairs, strict=True))
    task = find_task("docs_acceptability")
    scores = example_scores(task, predictions, references)
    assert scores.keys() == {"accuracy"}
    assert 100 * np.mean(scores["accuracy"]) == pytest.approx(score(task, predictions, references)["accuracy"])


@given(st.lists(st.tuples(*[st.text("ab the", max_size=9)] * 2), min_size=1, max_size=20))
def test_the_means_of_answer_scores_are_the_scores_of_the_task(pairs: list[tuple[str, str]]) -> None:
    predictions, references = map(list, zip(*pairs, strict=True))
    task = find_task("docs_answer")
    means = {metric: 100 * np.mean(each) for metric, each in example_scores(task, predictions, references).items()}
    assert means == pytest.approx(score(task, predictions, references))


def test_the_example_score_of_a_value_is_the_prediction() -> None:
    assert example_scores(find_task("stsb"), [4.5, 1.0], [5.0, 0.0]) == {"prediction": [4.5, 1.0]}


def test_unequal_counts_raise() -> None:
    with pytest.raises(ValueError, match="1 predictions for 2 references"):
        score(find_task("docs_pair"), [1], [1, 0])

"""Contracts of every task built from documents: balanced, split by module, deterministic, without shortcuts."""

from collections import Counter
from pathlib import Path

import pytest
from sklearn.linear_model import LogisticRegression

from steeplechase.foundation.errors import ConfigurationError, DataError
from steeplechase.tasks.corpora.assembly import read_documents
from steeplechase.tasks.corpora.document import Document
from steeplechase.tasks.documentation.sentences import sentences
from steeplechase.tasks.downstream import find_task, task_names
from steeplechase.tasks.downstream.docs_answer import parameters
from steeplechase.tasks.labelled.task import BuildExamples, Example, Examples
from steeplechase.tasks.metrics import overlap_f1
from steeplechase.tasks.progress import silent
from steeplechase.tasks.references.bag_of_words import bag_of_words_scores, learned_from
from steeplechase.tasks.references.trigrams import ngram_scores
from steeplechase.tasks.tokenizer import Tokenizer
from steeplechase.tasks.tokens import write_tokens

TRAIN_COUNT, DEV_COUNT = 600, 200
SPAN_TRAIN_COUNT, SPAN_DEV_COUNT = 180, 60  # three megabytes of documentation have few parameter lists
BUILT = [name for name in task_names() if find_task(name).build]
"""Tasks built from documents; tasks with files have their own tests."""
PAIRS = [name for name in BUILT if find_task(name).method == "minimal_pairs"]
CLASSIFICATION = [name for name in BUILT if find_task(name).labels]
SPANS = [name for name in BUILT if find_task(name).form == "span"]


@pytest.fixture(scope="session")
def built(test_documents: list[Document]) -> dict[str, Examples]:
    return {name: build(name)(test_documents, *counts(name)) for name in BUILT}


def build(name: str) -> BuildExamples:
    found = find_task(name).build
    assert found is not None
    return found


def counts(name: str) -> tuple[int, int]:
    return (SPAN_TRAIN_COUNT, SPAN_DEV_COUNT) if name in SPANS else (TRAIN_COUNT, DEV_COUNT)


def test_tasks_are_found_by_their_file_names() -> None:
    assert set(task_names()) >= {"docs_acceptability", "docs_answer", "docs_pair"}
    with pytest.raises(ConfigurationError, match=r"known: .*Did you mean docs_pair\?"):
        find_task("doc_pairs")


@pytest.mark.parametrize("name", BUILT)
def test_examples_have_the_requested_numbers_and_share_no_module(name: str, built: dict[str, Examples]) -> None:
    examples = built[name]
    train_count, dev_count = counts(name)
    if name not in PAIRS:
        assert train_count - 6 < len(examples.train) <= train_count  # short by less than one group
    assert dev_count - 6 < len(examples.dev) <= dev_count
    assert {example.source for example in examples.train}.isdisjoint(example.source for example in examples.dev)
    assert all(example.source for example in examples.train)


@pytest.mark.parametrize("name", BUILT)
def test_the_error_for_too_few_examples_has_the_counts(name: str, test_documents: list[Document]) -> None:
    with pytest.raises(DataError, match=rf"{name}: .* gives \d+ train and \d+ dev examples \(\d+ from \d+ modules\)"):
        build(name)(test_documents, 10**6, 10**5)
    with pytest.raises(DataError, match="gives 0 train and 0 dev"):
        build(name)([], 10, 10)


@pytest.mark.parametrize("name", CLASSIFICATION)
def test_labels_are_balanced(name: str, built: dict[str, Examples]) -> None:
    for examples in (built[name].train, built[name].dev):
        labels = Counter(example.label for example in examples)
        assert set(labels) == set(range(len(find_task(name).labels)))
        assert len(set(labels.values())) == 1


@pytest.mark.parametrize("name", CLASSIFICATION)
@pytest.mark.parametrize(("longest_ngram", "tolerance"), [(1, 15.0), (2, 30.0)])
def test_a_bag_of_words_is_near_chance(
    name: str, longest_ngram: int, tolerance: float, built: dict[str, Examples]
) -> None:
    task = find_task(name)
    scores = bag_of_words_scores(task, built[name], longest_ngram)
    assert scores is not None
    assert abs(scores[task.metrics[0]] - task.chance_score) < tolerance  # two standard errors at 200: 7 and 14


def test_a_bag_of_words_is_trained_on_a_fixed_sample_of_at_most_fifty_thousand() -> None:
    many = tuple(Example(f"row {number}", label=0) for number in range(60_000))
    sample = learned_from(many)
    rows = [int(example.first.split()[1]) for example in sample]
    assert len({*rows}) == 50_000
    assert rows == sorted(rows)
    assert learned_from(many) == sample
    assert max(rows) - min(rows) > 59_000  # a sample of all rows, not the first ones
    assert learned_from(many[:50_000]) == many[:50_000]


@pytest.mark.parametrize("name", CLASSIFICATION)
def test_lengths_do_not_predict_the_label(name: str, built: dict[str, Examples]) -> None:
    examples = built[name]
    tables = [
        [
            [len(example.first.split()), len(example.second or ""), len((example.second or "").split())]
            for example in part
        ]
        for part in (examples.train, examples.dev)
    ]
    model = LogisticRegression(max_iter=1000).fit(tables[0], [example.label for example in examples.train])
    correct = sum(model.predict(tables[1]) == [example.label for example in examples.dev])
    assert abs(correct / len(examples.dev) - 0.5) < 0.1


def test_each_text_of_a_pair_is_correct_as_often_as_incorrect(built: dict[str, Examples]) -> None:
    for examples in (built["docs_pair"].train, built["docs_pair"].dev):
        for side in ("first", "second"):
            right = Counter(getattr(example, side) for example in examples if example.label == 1)
            wrong = Counter(getattr(example, side) for example in examples if example.label == 0)
            assert right == wrong


def test_corrupted_sentences_have_the_words_of_the_originals(built: dict[str, Examples]) -> None:
    for examples in (built["docs_acceptability"].train, built["docs_acceptability"].dev):
        written = Counter(word for example in examples if example.label == 1 for word in example.first.split())
        broken = Counter(word for example in examples if example.label == 0 for word in example.first.split())
        assert written == broken
        texts = Counter(example.first for example in examples)
        assert max(texts.values()) == 1


@pytest.mark.parametrize("name", SPANS)
def test_answers_are_in_their_context_and_position_predicts_at_chance(name: str, built: dict[str, Examples]) -> None:
    contexts: dict[str, list[str]] = {}
    for example in (*built[name].train, *built[name].dev):
        assert example.answer_text == example.answer_text.strip() != ""
        contexts.setdefault(str(example.second), []).append(example.answer_text)
    assert all(len(answers) > 1 for answers in contexts.values())
    blind = [
        overlap_f1(guess, answer) for answers in contexts.values() for answer in answers for guess in [answers[0]]
    ]
    assert abs(sum(blind) / len(blind) - find_task(name).chance) < 0.08


def test_parameters_are_read_in_three_styles() -> None:
    numpy_style = (
        "Sum.\n\nParameters\n----------\nx : array\n    The values,\n    all of them.\ny : int\n    The axis.\n\n"
        "Returns\n-------\nz"
    )
    google_style = (
        "Sum.\n\nArgs:\n    x (array): The values,\n        all of them.\n    y: The axis.\n\nReturns:\n    z"
    )
    sphinx_style = "Sum.\n\n:param array x: The values,\n    all of them.\n:param y: The axis.\n:returns: z"
    for text in (numpy_style, google_style, sphinx_style):
        found = [
            (parameter.name, " ".join(text[parameter.start : parameter.end].split()))
            for parameter in parameters(text)
        ]
        assert found == [("x", "The values, all of them."), ("y", "The axis.")]


def test_sentences_are_complete_and_of_prose() -> None:
    text = "Return the mean of all values, e.g. of a row. It is None.\n\n- a list of several words.\n\nx : int"
    assert sentences(text) == ["Return the mean of all values, e.g. of a row."]


def test_word_order_swaps_two_adjacent_words_only(built: dict[str, Examples]) -> None:
    examples = (*built["word_order"].train, *built["word_order"].dev)
    for written, swapped in zip(examples[::2], examples[1::2], strict=True):
        assert (written.label, swapped.label) == (1, 0)
        positions = differing(written.first, swapped.first)
        assert len(positions) == 2
        assert positions[1] == positions[0] + 1
        assert sorted(written.first.split(" ")) == sorted(swapped.first.split(" "))


def test_agreement_pairs_have_both_directions_equally_often(built: dict[str, Examples]) -> None:
    examples = built["docs_minimal_pairs"]
    assert examples.train == ()
    assert {pair.group for pair in examples.dev} == {"agreement", "word_order"}
    directions: Counter[tuple[str, str]] = Counter()
    for pair in examples.dev:
        positions = differing(pair.first, str(pair.second))
        assert len(positions) == (1 if pair.group == "agreement" else 2)
        if pair.group == "agreement":
            directions[pair.first.split(" ")[positions[0]], str(pair.second).split(" ")[positions[0]]] += 1
    assert directions
    assert all(count == directions[bad, good] for (good, bad), count in directions.items())


def differing(first: str, second: str) -> list[int]:
    words, others = first.split(" "), second.split(" ")
    assert len(words) == len(others)
    return [position for position, (word, other) in enumerate(zip(words, others, strict=True)) if word != other]


@pytest.mark.parametrize(("name", "min_accuracy"), [("word_order", 57.0), ("docs_minimal_pairs", 65.0)])
def test_an_ngram_model_of_the_pretraining_text_sees_word_order(
    name: str, min_accuracy: float, built: dict[str, Examples], assembled: Path, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    texts = [document.text for document in read_documents(assembled, "train")]
    write_tokens(texts, len(texts), tokenizer, tmp_path / "train.npy", silent)
    scores = ngram_scores(find_task(name), built[name], tmp_path / "train.npy", tokenizer)
    assert set(scores) == set(find_task(name).metrics)
    assert scores["accuracy"] > min_accuracy

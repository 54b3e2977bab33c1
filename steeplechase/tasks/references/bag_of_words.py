"""Bag-of-words baseline of every downstream task. The only import of scikit-learn's models."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from steeplechase.foundation.randomness import stream
from steeplechase.tasks.labelled.scoring import score
from steeplechase.tasks.labelled.task import DownstreamTask, Example, Examples
from steeplechase.tasks.references.words import pattern_of_words

LONGEST_NGRAM = 2  # unigrams and bigrams
MOST_ITERATIONS = 1000
RIDGE_STRENGTH = 10.0
MOST_EXAMPLES = 50_000  # MNLI's 392,702 would take minutes for little gain
DRAWING_SEED = 18040746  # arbitrary; independent of the seeds of an experiment

Classifier = Callable[[Sequence[Example]], Sequence[int]]
"""From examples to labels."""


def bag_of_words_scores(
    task: DownstreamTask, examples: Examples, longest_ngram: int = LONGEST_NGRAM
) -> dict[str, float] | None:
    """Return the dev scores, times 100, of a logistic regression on word counts of the train set; None for spans.

    Regression tasks use ridge regression. The two texts of a pair have separate features. Of a multiple choice, the
    ending most likely to be right is predicted; words of the context are the same for all of its endings, so the
    regression has the words of the endings alone. At most 50,000 train examples are used (`learned_from`).
    """
    if task.form == "span":
        return None
    examples = replace(examples, train=learned_from(examples.train))
    if task.form == "choice":
        return _ending_scores(task, examples, longest_ngram)
    if task.value_range is None:
        predictions = label_classifier(examples.train, longest_ngram)(examples.dev)
        return score(task, [*predictions], [int(example.label or 0) for example in examples.dev])
    from sklearn.linear_model import Ridge

    counted = _Counts(examples.train, longest_ngram)
    ridge = Ridge(RIDGE_STRENGTH).fit(counted.of_train, [example.value for example in examples.train])
    values = [float(value) for value in ridge.predict(counted.of(examples.dev))]
    return score(task, values, [float(example.value or 0.0) for example in examples.dev])


def label_classifier(train: Sequence[Example], longest_ngram: int = LONGEST_NGRAM) -> Classifier:
    """Return what predicts labels: a logistic regression on the word counts of the train examples."""
    from sklearn.linear_model import LogisticRegression

    counted = _Counts(train, longest_ngram)
    model = LogisticRegression(max_iter=MOST_ITERATIONS)
    model.fit(counted.of_train, [example.label for example in train])
    return lambda examples: [int(label) for label in model.predict(counted.of(examples))] if examples else []


class _Counts:
    """Word counts of examples with the vocabulary of the train examples; the texts of a pair are counted apart."""

    def __init__(self, train: Sequence[Example], longest_ngram: int) -> None:
        from sklearn.feature_extraction.text import CountVectorizer

        sides = _sides(train)
        self._sides = [CountVectorizer(**_counting(texts, longest_ngram)) for texts in sides]
        self.of_train = _joined([side.fit_transform(texts) for side, texts in zip(self._sides, sides, strict=True)])

    def of(self, examples: Sequence[Example]) -> Any:
        """Return the counts of other examples [examples words], sparse."""
        return _joined([side.transform(texts) for side, texts in zip(self._sides, _sides(examples), strict=True)])


def _joined(columns: Sequence[Any]) -> Any:
    from scipy.sparse import hstack

    return hstack(columns).tocsr()


def _counting(texts: Sequence[str], longest_ngram: int) -> dict[str, Any]:
    """Return how the words of texts are counted."""
    return {"ngram_range": (1, longest_ngram), "token_pattern": pattern_of_words(texts), "binary": True}


def _ending_scores(task: DownstreamTask, examples: Examples, longest_ngram: int) -> dict[str, float]:
    """Return the dev scores of ranking endings by a logistic regression of whether an ending is right."""
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    def endings(part: Sequence[Example]) -> list[str]:
        return [ending for example in part for ending in example.endings]

    right = [number == example.label for example in examples.train for number in range(len(example.endings))]
    texts = endings(examples.train)
    counts = CountVectorizer(**_counting(texts, longest_ngram))
    model = make_pipeline(counts, LogisticRegression(max_iter=MOST_ITERATIONS))
    odds = model.fit(texts, right).decision_function(endings(examples.dev))
    predictions = odds.reshape(len(examples.dev), -1).argmax(1)
    return score(task, [int(label) for label in predictions], [int(example.label or 0) for example in examples.dev])


def label_predictions(
    train: Sequence[Sequence[float]], labels: Sequence[int], dev: Sequence[Sequence[float]]
) -> list[int]:
    """Return the labels that a logistic regression on a few numbers of each example predicts, standardised first."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=MOST_ITERATIONS)).fit(train, labels)
    return [int(label) for label in model.predict(dev)]


def learned_from(train: tuple[Example, ...]) -> tuple[Example, ...]:
    """Return the train examples of the baseline: all, or a fixed random sample of 50,000."""
    if len(train) <= MOST_EXAMPLES:
        return train
    chosen = stream(DRAWING_SEED, "bag of words").choice(len(train), MOST_EXAMPLES, replace=False)
    return tuple(train[row] for row in sorted(chosen))


def _sides(examples: Sequence[Example]) -> list[list[str]]:
    sides = [[example.first for example in examples]]
    if examples and examples[0].second is not None:
        sides.append([str(example.second) for example in examples])
    return sides

"""Bag-of-words baseline of every downstream task. The only import of scikit-learn's models."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from foundation.randomness import stream
from tasks.labelled.scoring import score
from tasks.labelled.task import DownstreamTask, Example, Examples

WORD_PATTERN = r"(?u)\b\w+\b"
LONGEST_NGRAM = 2  # unigrams and bigrams
MOST_ITERATIONS = 1000
RIDGE_STRENGTH = 10.0
MOST_EXAMPLES = 50_000  # MNLI's 392,702 would take minutes for little gain
DRAWING_SEED = 18040746  # arbitrary; independent of the seeds of an experiment


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
    from scipy.sparse import hstack
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression, Ridge

    columns = []
    for train_texts, dev_texts in zip(_sides(examples.train), _sides(examples.dev), strict=True):
        counts = CountVectorizer(**_counting(longest_ngram))
        columns.append((counts.fit_transform(train_texts), counts.transform(dev_texts)))
    train_counts, dev_counts = (
        hstack([train for train, _ in columns]).tocsr(),
        hstack([dev for _, dev in columns]).tocsr(),
    )
    if task.value_range is not None:
        ridge = Ridge(RIDGE_STRENGTH).fit(train_counts, [example.value for example in examples.train])
        values = [float(value) for value in ridge.predict(dev_counts)]
        return score(task, values, [float(example.value or 0.0) for example in examples.dev])
    model = LogisticRegression(max_iter=MOST_ITERATIONS)
    model.fit(train_counts, [example.label for example in examples.train])
    predictions = model.predict(dev_counts)
    return score(task, [int(label) for label in predictions], [int(example.label or 0) for example in examples.dev])


def _counting(longest_ngram: int) -> dict[str, Any]:
    return {"ngram_range": (1, longest_ngram), "token_pattern": WORD_PATTERN, "binary": True}


def _ending_scores(task: DownstreamTask, examples: Examples, longest_ngram: int) -> dict[str, float]:
    """Return the dev scores of ranking endings by a logistic regression of whether an ending is right."""
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    def endings(part: Sequence[Example]) -> list[str]:
        return [ending for example in part for ending in example.endings]

    right = [number == example.label for example in examples.train for number in range(len(example.endings))]
    model = make_pipeline(CountVectorizer(**_counting(longest_ngram)), LogisticRegression(max_iter=MOST_ITERATIONS))
    odds = model.fit(endings(examples.train), right).decision_function(endings(examples.dev))
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

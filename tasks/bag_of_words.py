"""A bag of words, the baseline every downstream task must leave at chance. The one door to scikit-learn's models."""

from collections.abc import Sequence
from dataclasses import replace

from foundation.randomness import stream
from tasks.labelled.scoring import score
from tasks.labelled.task import DownstreamTask, Example, Examples

WORD_PATTERN = r"(?u)\b\w+\b"
LONGEST_NGRAM = 2  # words and pairs of neighbours
MOST_ITERATIONS = 1000
RIDGE_STRENGTH = 10.0
MOST_EXAMPLES = 50_000  # of MNLI's 392,702 it would learn for minutes, and not much more
DRAWING_SEED = 18040746  # of no meaning; it belongs to no seed of an experiment


def bag_of_words_scores(
    task: DownstreamTask, examples: Examples, longest_ngram: int = LONGEST_NGRAM
) -> dict[str, float] | None:
    """Return the dev scores, times 100, of a logistic regression on the train set's word counts; None for spans.

    A value is predicted by a ridge regression. The words of the two texts of a pair are counted apart. It learns from
    at most 50,000 examples (`learned_from`).
    """
    if task.form == "span":
        return None
    examples = replace(examples, train=learned_from(examples.train))
    from scipy.sparse import hstack
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression, Ridge

    columns = []
    for train_texts, dev_texts in zip(_sides(examples.train), _sides(examples.dev), strict=True):
        counts = CountVectorizer(ngram_range=(1, longest_ngram), token_pattern=WORD_PATTERN, binary=True)
        columns.append((counts.fit_transform(train_texts), counts.transform(dev_texts)))
    words, asked = hstack([train for train, _ in columns]).tocsr(), hstack([dev for _, dev in columns]).tocsr()
    if task.value_range is not None:
        ridge = Ridge(RIDGE_STRENGTH).fit(words, [example.value for example in examples.train])
        values = [float(value) for value in ridge.predict(asked)]
        return score(task, values, [float(example.value or 0.0) for example in examples.dev])
    model = LogisticRegression(max_iter=MOST_ITERATIONS)
    model.fit(words, [example.label for example in examples.train])
    predictions = model.predict(asked)
    return score(task, [int(label) for label in predictions], [int(example.label or 0) for example in examples.dev])


def learned_from(train: tuple[Example, ...]) -> tuple[Example, ...]:
    """Return the examples that the baseline learns from: all, or a draw of 50,000 that is always the same."""
    if len(train) <= MOST_EXAMPLES:
        return train
    chosen = stream(DRAWING_SEED, "bag of words").choice(len(train), MOST_EXAMPLES, replace=False)
    return tuple(train[row] for row in sorted(chosen))


def _sides(examples: Sequence[Example]) -> list[list[str]]:
    sides = [[example.first for example in examples]]
    if examples and examples[0].second is not None:
        sides.append([str(example.second) for example in examples])
    return sides

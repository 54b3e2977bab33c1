"""The threshold of "no answer" in SQuAD 2.0. arXiv 1810.04805, section 4.3.

Odds are the score of "no answer" minus that of the best text; above the threshold the prediction is "no answer".
"""

from collections.abc import Mapping
from itertools import pairwise


def best_as_official(
    scores: Mapping[str, float],
    answerable: Mapping[str, bool],
    predictions: Mapping[str, str],
    null_odds: Mapping[str, float],
) -> tuple[float, float]:
    """Return the best mean score times 100 over all thresholds and that threshold, as evaluate-v2.0.py finds them.

    An upper bound in two ways: the threshold is chosen on the evaluated data, and questions with equal odds are
    separated. The script starts at 0 with every question unanswered, for any odds.
    """
    current = best = float(sum(not has for has in answerable.values()))
    threshold = 0.0
    for identifier in sorted(null_odds, key=lambda each: null_odds[each]):
        if identifier not in answerable or identifier not in predictions:
            continue
        current += _gain(scores[identifier], answerable[identifier], predictions[identifier])
        if current > best:
            best, threshold = current, null_odds[identifier]
    return 100 * best / len(scores), threshold


def chosen_threshold(
    scores: Mapping[str, float],
    answerable: Mapping[str, bool],
    predictions: Mapping[str, str],
    null_odds: Mapping[str, float],
) -> float:
    """Return the threshold with the highest mean score, halfway to the next odds; the lowest of equal ones.

    For data that no result is reported on. Questions with equal odds are on the same side. Below the lowest
    odds by 1 every question is unanswered; without questions it is 0.
    """
    levels = sorted(set(null_odds.values()))
    if not levels:
        return 0.0
    gains = dict.fromkeys(levels, 0.0)
    for identifier, odds in null_odds.items():
        gains[odds] += _gain(scores[identifier], answerable[identifier], predictions[identifier])
    thresholds = [levels[0] - 1.0, *(_between(low, high) for low, high in pairwise(levels)), levels[-1] + 1.0]
    current = best = 0.0
    chosen = thresholds[0]
    for level, threshold in zip(levels, thresholds[1:], strict=True):
        current += gains[level]
        if current > best:
            best, chosen = current, threshold
    return chosen


def _between(low: float, high: float) -> float:
    """Return a number from `low` on and below `high`: the middle, unless rounding moves it to an end."""
    middle = (low + high) / 2
    return middle if low <= middle < high else low


def _gain(score: float, answerable: bool, prediction: str) -> float:
    """Return the change of the score if the text is predicted instead of "no answer"."""
    if answerable:
        return score
    return -1.0 if prediction else 0.0

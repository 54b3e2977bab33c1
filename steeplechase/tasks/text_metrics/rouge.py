"""ROUGE by rouge-score: the only import of it. Lin 2004, ROUGE: A Package for Automatic Evaluation of Summaries.

ROUGE-L takes the whole text as one sequence; ROUGE-Lsum splits it at line breaks. Words are stemmed, as papers do.
"""

from collections.abc import Sequence
from importlib.metadata import version

from steeplechase.tasks.text_metrics import RESAMPLES, SEED, TextScore


def scores(metrics: Sequence[str], predictions: Sequence[str], references: Sequence[str]) -> dict[str, TextScore]:
    """Return the mean F1 of the texts, times 100."""
    of_texts = f1_of_texts(metrics, predictions, references)
    signature = f"nrefs:1|bs:{RESAMPLES}|seed:{SEED}|stem:yes|measure:f1|version:{version('rouge-score')}"
    return {name: TextScore(sum(each) / len(each), _interval(each), signature) for name, each in of_texts.items()}


def f1_of_texts(
    metrics: Sequence[str], predictions: Sequence[str], references: Sequence[str], *, stemmed: bool = True
) -> dict[str, list[float]]:
    """Return the F1 of every text, times 100, by metric."""
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(list(metrics), use_stemmer=stemmed)
    found = [scorer.score(reference, text) for text, reference in zip(predictions, references, strict=True)]
    return {name: [100 * each[name].fmeasure for each in found] for name in metrics}


def _interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the interval of the mean over resampled texts."""
    import numpy as np

    each = np.asarray(values)
    draws = np.random.default_rng(SEED).integers(len(each), size=(RESAMPLES, len(each)))
    low, high = np.percentile(each[draws].mean(1), [2.5, 97.5])
    return float(low), float(high)

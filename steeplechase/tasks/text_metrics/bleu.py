"""BLEU and chrF by sacrebleu: the only import of it. Papineni et al. 2002; Post 2018, arXiv 1804.08771."""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from steeplechase.tasks.text_metrics import RESAMPLES, TextScore

DECIMALS = 4  # of the interval, which sacrebleu writes as text
SEED_VARIABLE, SEED = "SACREBLEU_SEED", "12345"  # the default, which the signature names


def scores(metrics: Sequence[str], predictions: Sequence[str], references: Sequence[str]) -> dict[str, TextScore]:
    """Return the corpus scores of detokenised texts with one reference each; sacrebleu's own tokenisation is 13a."""
    with _seeded_resamples():
        return {name: _score(name, predictions, references) for name in metrics}


def _score(name: str, predictions: Sequence[str], references: Sequence[str]) -> TextScore:
    metric = _metric(name)
    try:
        score = metric.corpus_score(list(predictions), [list(references)], n_bootstrap=RESAMPLES)
        interval = _interval_of(score, str(metric.get_signature()))
    except TypeError:  # chrF of 0 and other resampled scores are of two types, which sacrebleu cannot average
        score = metric.corpus_score(list(predictions), [list(references)])
        interval = _chrf_interval(metric, predictions, references)
    return TextScore(float(score.score), interval, str(metric.get_signature()))


@contextmanager
def _seeded_resamples() -> Iterator[None]:
    """Use one seed for the resamples: sacrebleu takes it from the environment, where it has no parameter."""
    declared = os.environ.get(SEED_VARIABLE)
    os.environ[SEED_VARIABLE] = SEED
    try:
        yield
    finally:
        os.environ.pop(SEED_VARIABLE)
        if declared is not None:
            os.environ[SEED_VARIABLE] = declared


def _interval_of(score: Any, signature: str) -> tuple[float, float]:
    written = json.loads(score.format(width=DECIMALS, is_json=True, signature=signature))
    # sacrebleu gives no interval where every resampled score is 0
    middle, spread = (written.get(f"confidence_{each}", 0.0) for each in ("mean", "var"))
    return max(0.0, middle - spread), min(100.0, middle + spread)


def _chrf_interval(metric: Any, predictions: Sequence[str], references: Sequence[str]) -> tuple[float, float]:
    """Return the interval of chrF (Popović 2015) over the resamples that sacrebleu draws; texts are counted once."""
    import numpy as np

    each = [_matches(metric.char_order, *pair) for pair in zip(predictions, references, strict=True)]
    drawn = np.random.default_rng(int(SEED)).choice(len(each), size=(RESAMPLES, len(each)), replace=True)
    times = np.apply_along_axis(np.bincount, 1, drawn, minlength=len(each))
    matched, hypothesis, reference = np.moveaxis(np.tensordot(times, np.array(each), 1), 2, 0)
    counted = (hypothesis > 0) & (reference > 0)
    precision, recall = (
        (matched / np.maximum(of, 1)).sum(1, where=counted) / np.maximum(counted.sum(1), 1)
        for of in (hypothesis, reference)
    )
    below = metric.beta**2 * precision + recall
    values = np.sort(100 * (1 + metric.beta**2) * precision * recall / np.where(below > 0, below, 1))
    spread, middle = (values[-1 - RESAMPLES // 40] - values[RESAMPLES // 40]) / 2, values.mean()
    return max(0.0, float(middle - spread)), min(100.0, float(middle + spread))


def _matches(orders: int, prediction: str, reference: str) -> list[list[int]]:
    """Return, by order, how many n-grams of characters match, and how many both texts have; none without any here."""
    from sacrebleu import extract_char_ngrams

    found: list[list[int]] = []
    for order in range(1, orders + 1):
        of_text, of_reference = (extract_char_ngrams(each, order) for each in (prediction, reference))
        written = of_text.total() if of_reference else 0
        found.append([(of_text & of_reference).total(), written, of_reference.total()])
    return found


def _metric(name: str) -> Any:
    from sacrebleu.metrics import BLEU, CHRF

    # `force` leaves out a warning where many texts end in a separated full stop
    return BLEU(force=True) if name == "bleu" else CHRF()

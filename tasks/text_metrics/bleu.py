"""BLEU and chrF by sacrebleu: the only import of it. Papineni et al. 2002; Post 2018, arXiv 1804.08771."""

import json
from collections.abc import Sequence
from statistics import fmean
from typing import Any

import numpy as np

from tasks.text_metrics.scores import RESAMPLES, TextScores

DECIMALS = 4  # of the interval, which sacrebleu writes as text
SEED = 12345  # sacrebleu's own


def scores(metrics: Sequence[str], predictions: Sequence[str], references: Sequence[str]) -> TextScores:
    """Return the corpus scores of detokenised texts with one reference each; sacrebleu's own tokenisation is 13a."""
    found = TextScores({}, {}, {})
    for name in metrics:
        metric = _metric(name)
        try:
            score = metric.corpus_score(list(predictions), [list(references)], n_bootstrap=RESAMPLES)
            interval = _interval_of(score, str(metric.get_signature()))
        except TypeError:  # sacrebleu's resampled scores that are 0 are of another type, and it cannot average both
            score = metric.corpus_score(list(predictions), [list(references)])
            interval = _interval(metric, predictions, references)
        signature = str(metric.get_signature())
        found = found.joined(TextScores({name: float(score.score)}, {name: interval}, {name: signature}))
    return found


def _interval_of(score: Any, signature: str) -> tuple[float, float]:
    written = json.loads(score.format(width=DECIMALS, is_json=True, signature=signature))
    # sacrebleu gives no interval where every resampled score is 0
    middle, spread = (written.get(f"confidence_{each}", 0.0) for each in ("mean", "var"))
    return max(0.0, middle - spread), min(100.0, middle + spread)


def _interval(metric: Any, predictions: Sequence[str], references: Sequence[str]) -> tuple[float, float]:
    """Return the interval of the resamples that sacrebleu draws, each scored on its own."""
    count = len(predictions)
    drawn = np.random.default_rng(SEED).choice(count, size=(RESAMPLES, count), replace=True)
    resampled = (([predictions[at] for at in places], [[references[at] for at in places]]) for places in drawn)
    values = sorted(float(metric.corpus_score(*texts).score) for texts in resampled)
    spread, middle = (values[-1 - RESAMPLES // 40] - values[RESAMPLES // 40]) / 2, fmean(values)
    return max(0.0, middle - spread), min(100.0, middle + spread)


def tokenised_bleu(predictions: Sequence[str], references: Sequence[str]) -> float:
    """Return BLEU of texts that are tokenised already, as multi-bleu.perl reads them."""
    from sacrebleu.metrics import BLEU

    return float(BLEU(tokenize="none").corpus_score(list(predictions), [list(references)]).score)


def _metric(name: str) -> Any:
    from sacrebleu.metrics import BLEU, CHRF

    # `force` leaves out a warning where many texts end in a separated full stop
    return BLEU(force=True) if name == "bleu" else CHRF()

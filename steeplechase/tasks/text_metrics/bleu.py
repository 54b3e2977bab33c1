"""BLEU and chrF by sacrebleu: the only import of it. Papineni et al. 2002; Post 2018, arXiv 1804.08771."""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from statistics import fmean
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
    except TypeError:  # sacrebleu's resampled scores that are 0 are of another type, and it cannot average both
        score = metric.corpus_score(list(predictions), [list(references)])
        interval = _interval(metric, predictions, references)
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


def _interval(metric: Any, predictions: Sequence[str], references: Sequence[str]) -> tuple[float, float]:
    """Return the interval of the resamples that sacrebleu draws, by its own functions: texts are counted once."""
    from sacrebleu.significance import _bootstrap_resample  # no public function gives the resampled scores

    counts = metric._extract_corpus_statistics(list(predictions), [list(references)])
    _, resampled = _bootstrap_resample(counts, metric, RESAMPLES)
    values = sorted(float(each.score) for each in resampled)
    spread, middle = (values[-1 - RESAMPLES // 40] - values[RESAMPLES // 40]) / 2, fmean(values)
    return max(0.0, middle - spread), min(100.0, middle + spread)


def _metric(name: str) -> Any:
    from sacrebleu.metrics import BLEU, CHRF

    # `force` leaves out a warning where many texts end in a separated full stop
    return BLEU(force=True) if name == "bleu" else CHRF()

"""Attention mass near the diagonal, as the stage `attention` measured it."""

import math
from collections.abc import Sequence

import numpy as np

from tools.audit.exports import Trial

ALL_MASS, INNER, PER_HEAD = "all mass", "without [CLS] and [SEP]", "mean over heads"
Head = tuple[int, float, float, float, float]


def heads_of(trial: Trial) -> list[Head]:
    """Return layer, mass near and far, and both without [CLS] and [SEP], of every head."""
    measured = trial.finished("attention")
    return [(int(layer), *masses) for layer, _, *masses in measured[-1].result["heads"]] if measured else []


def concentration(heads: Sequence[Head], reading: str, layer: int | None = None) -> float | None:
    """Return attention mass near the diagonal over mass beyond it."""
    chosen = [head for head in heads if layer is None or head[0] == layer]
    if reading == PER_HEAD:
        return float(np.mean([near / far for _, near, far, *_ in chosen])) if all(h[2] > 0 for h in chosen) else None
    at = 3 if reading == INNER else 1
    far = math.fsum(head[at + 1] for head in chosen)
    return math.fsum(head[at] for head in chosen) / far if far > 0 else None

"""Metrics of generated texts: one file per library, which it alone imports.

Each file gives scores from 0 to 100, their intervals over resampled texts, and the signature of what was computed.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec

from steeplechase.foundation.errors import MachineError, install_extra
from steeplechase.foundation.option_modules import module_named

RESAMPLES = 1000
"""Of the bootstrap over texts; its interval is of 95%."""
SEED = 12345
"""Of the bootstrap: sacrebleu's default."""


@dataclass(frozen=True)
class TextScore:
    """One metric of texts, on the scale from 0 to 100."""

    value: float
    interval: tuple[float, float]
    """Of 95%, over resampled texts."""
    signature: str
    """What was computed: version, tokenisation, case."""


LIBRARIES: Mapping[str, str] = {
    "bleu": "bleu",
    "chrf": "bleu",
    "rouge1": "rouge",
    "rouge2": "rouge",
    "rougeL": "rouge",
    "rougeLsum": "rouge",
    "exact_match": "exact_match",
}
"""The file of each metric."""
MODULES: Mapping[str, str] = {"bleu": "sacrebleu", "rouge": "rouge_score"}
"""The library that a file imports, where it imports one; it is in the optional extra `texts`."""


def refuse_missing_libraries(metrics: Iterable[str]) -> None:
    """Raise MachineError if the library of a metric is not installed; it is not imported."""
    wanted = {metric: MODULES.get(LIBRARIES[metric]) for metric in metrics}
    missing = [metric for metric, module in wanted.items() if module is not None and find_spec(module) is None]
    if missing:
        raise MachineError(f"{', '.join(missing)}: needs the extra `texts`; {install_extra('texts')}")


def text_scores(
    metrics: Sequence[str], predictions: Sequence[str], references: Sequence[str]
) -> dict[str, TextScore]:
    """Return the metrics of predicted texts, in their order.

    Raises ValueError if there are no references, or the numbers of predictions and references differ, MachineError
    without the extra `texts`.
    """
    refuse_missing_libraries(metrics)
    if len(predictions) != len(references) or not references:
        raise ValueError(f"{len(predictions)} predictions for {len(references)} references")
    found: dict[str, TextScore] = {}
    for name in dict.fromkeys(LIBRARIES[metric] for metric in metrics):
        own = tuple(metric for metric in metrics if LIBRARIES[metric] == name)
        found |= module_named(__name__, name).scores(own, predictions, references)
    return {metric: found[metric] for metric in metrics}


__all__ = ["LIBRARIES", "TextScore", "refuse_missing_libraries", "text_scores"]

"""Contracts of a user's own metrics: what a function of `tasks/own_metrics/` returns, and for what more."""

from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any

from steeplechase.foundation.errors import DataError
from steeplechase.models.contract import Outcome
from steeplechase.tasks.contracts.own_functions import outcomes_of_functions
from steeplechase.tasks.own_metrics import own_scores

KINDS: Mapping[str, tuple[Sequence[Any], Sequence[Any]]] = {
    "labels": (["yes", "no", "yes", "no"], ["no", "yes", "no", "yes"]),
    "values": ([0.0, 1.0, 2.0, 3.0], [3.0, 2.0, 1.0, 0.0]),
    "tags": ([["O", "B"], ["B", "O"]], [["B", "O"], ["O", "B"]]),
}
"""By kind of a task's targets: references, and predictions that are all wrong."""
FINITE, LARGER = "it returns finite numbers", "right answers score higher than wrong ones"

UNKNOWN = "it knows none of the invented labels"
"""Why a metric of certain labels is not measured: those of the contracts are yes and no, O and B."""


def own_metric_contracts(module: ModuleType) -> Iterator[Outcome]:
    """Yield the outcomes of every public function that a file defines, on the first kind of targets that it reads."""
    yield from outcomes_of_functions(module, FINITE, _function_contracts)


def _function_contracts(reference: str) -> Iterator[Outcome]:
    refusals, broken = [], False
    for kind, (references, wrong) in KINDS.items():
        try:
            right, others = own_scores(reference, references, references), own_scores(reference, references, wrong)
        except DataError as refusal:
            broken |= not isinstance(refusal.__cause__, Exception)  # it returned what is no number
            refusals.append(f"of {kind}: {refusal.lines[0].removeprefix(f'{reference}: ')}")
            continue
        if right == others:
            refusals.append(f"of {kind}: {right} for right and for wrong answers")
            continue
        yield Outcome(reference, FINITE)
        rising = all(right[name] > others.get(name, right[name] - 1) for name in right)
        problem = "" if rising else f"of {kind}: {right} for right answers, {others} for wrong ones"
        yield Outcome(reference, LARGER, problem=problem)
        return
    text = "; ".join(refusals)
    yield (
        Outcome(reference, FINITE, problem=text)
        if broken
        else Outcome(reference, LARGER, skipped=f"{UNKNOWN}: {text}")
    )

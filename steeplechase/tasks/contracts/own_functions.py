"""Contracts of a user's own metrics and measurements: every public function that a file defines is measured."""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any

import torch

from search_space.architecture import Architecture
from steeplechase.foundation.errors import DataError
from steeplechase.models.build_encoder import build_encoder
from steeplechase.models.contract import Outcome
from steeplechase.tasks.own_measurements import PACKAGE
from steeplechase.tasks.own_metrics import function_of, own_numbers


def outcomes_of_functions(module: ModuleType, contracts: Callable[[str], Iterator[Outcome]]) -> Iterator[Outcome]:
    """Yield the outcomes of each function, called `file:name`; without one, that the first contract is broken."""
    file = module.__name__.rpartition(".")[2]
    functions = [each for each in vars(module).values() if inspect.isfunction(each)]
    own = [each.__name__ for each in functions if each.__module__ == module.__name__ and each.__name__[0] != "_"]
    if not own:
        yield Outcome(file, FINITE, problem="the file defines no function")
    for name in own:
        yield from contracts(f"{file}:{name}")


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
    yield from outcomes_of_functions(module, _metric_contracts)


def _metric_contracts(reference: str) -> Iterator[Outcome]:
    refusals, broken = [], False
    for kind, (references, wrong) in KINDS.items():
        try:
            function = function_of(reference)
            right, others = (own_numbers(reference, function, references, each) for each in (references, wrong))
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


SAME, UNTOUCHED = (
    "the same encoder and tokens give the same numbers",
    "it leaves the encoder and its mode as they were",
)
SIZES = {"depth": 2, "width": 16, "embedding_width": 16, "heads": 2, "feed_forward_width": 32, "vocabulary_size": 50}
SEQUENCES, LENGTH = 4, 12


def own_measurement_contracts(module: ModuleType) -> Iterator[Outcome]:
    """Yield the outcomes of every public function that a file defines, on a small untrained encoder."""
    yield from outcomes_of_functions(module, _measurement_contracts)


def _measurement_contracts(reference: str) -> Iterator[Outcome]:
    generator = torch.Generator().manual_seed(1)
    tokens = torch.randint(5, SIZES["vocabulary_size"], (SEQUENCES, LENGTH), generator=generator)
    encoder = build_encoder(Architecture.model_validate(SIZES), 0.0).eval()
    before = {name: weights.clone() for name, weights in encoder.state_dict().items()}
    try:
        with torch.no_grad():
            first, second = (
                own_numbers(reference, function_of(reference, PACKAGE), encoder, tokens) for _ in range(2)
            )
    except DataError as refusal:
        yield Outcome(reference, FINITE, problem=refusal.lines[0])
        return
    yield Outcome(reference, FINITE)
    yield Outcome(reference, SAME, problem="" if first == second else f"{first}, then {second}")
    changed = [name for name, weights in encoder.state_dict().items() if not torch.equal(weights, before[name])]
    changed += ["training mode"] if encoder.training else []
    yield Outcome(reference, UNTOUCHED, problem=f"changed: {', '.join(changed)}" if changed else "")

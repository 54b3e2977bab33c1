"""Contracts of a user's own measurements: what a function of `tasks/own_measurements/` returns and leaves alone."""

from collections.abc import Iterator
from types import ModuleType

import torch

from search_space.architecture import Architecture
from steeplechase.foundation.errors import DataError
from steeplechase.models.build_encoder import build_encoder
from steeplechase.models.contract import Outcome
from steeplechase.tasks.contracts.own_functions import outcomes_of_functions
from steeplechase.tasks.own_measurements import PACKAGE
from steeplechase.tasks.own_metrics import function_of, own_numbers

FINITE, SAME, UNTOUCHED = (
    "it returns finite numbers",
    "the same encoder and tokens give the same numbers",
    "it leaves the encoder and its mode as they were",
)
SIZES = {"depth": 2, "width": 16, "embedding_width": 16, "heads": 2, "feed_forward_width": 32, "vocabulary_size": 50}
SEQUENCES, LENGTH = 4, 12


def own_measurement_contracts(module: ModuleType) -> Iterator[Outcome]:
    """Yield the outcomes of every public function that a file defines, on a small untrained encoder."""
    yield from outcomes_of_functions(module, FINITE, _function_contracts)


def _function_contracts(reference: str) -> Iterator[Outcome]:
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

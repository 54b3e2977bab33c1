"""Compilation of the loss of an update by torch.compile (Ansel et al. 2024, doi 10.1145/3620665.3640366).

Encoder and loss are one graph, of which inductor generates few kernels; their launches are recorded in CUDA graphs
where all shapes are fixed. The generated code is cached below the user's cache folder, for all trials of a machine.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch._dynamo.exc import TorchDynamoException

from search_space.candidate import Candidate
from steeplechase.foundation.environment import cache_folder
from steeplechase.foundation.errors import MachineError
from steeplechase.tasks.objectives.pretraining_model import PretrainingModel

CACHE = "TORCHINDUCTOR_CACHE_DIR"
MOST_GRAPHS = 64
"""Compiled variants of one loss: of batches with and without padding, and of other stages of a training."""


@contextmanager
def compiled_terms(
    model: PretrainingModel[Any], candidate: Candidate, backend: str | Callable[..., Any] = "inductor"
) -> Iterator[None]:
    """Compile the terms of the loss inside, where the candidate compiles; what was compiled is forgotten at the end.

    A resumed training compiles again, to the same code: lengths that differ from batch to batch are variables of
    it from the first batch on. A GPU draws other patterns of dropout than without compilation. Raises MachineError
    with the remedy where torch cannot compile the loss.
    """
    if not candidate.compiles:
        yield
        return
    os.environ.setdefault(CACHE, str(cache_folder() / "inductor"))
    recipe, eager = candidate.recipe, model.terms
    settings = {"recompile_limit": MOST_GRAPHS, "allow_rnn": True, "fail_on_recompile_limit_hit": True}
    options: dict[str, Any] = {
        "deterministic": recipe.deterministic,
        "triton.cudagraphs": recipe.device == "cuda" and recipe.micro_batches == 1,  # which add to gradients in place
        "triton.cudagraph_skip_dynamic_graphs": True,
    }
    compiled = torch.compile(eager, backend=backend, options=options if backend == "inductor" else None)

    def terms(batch: Any) -> tuple[Tensor, ...]:
        torch.compiler.cudagraph_mark_step_begin()
        mark_varying(batch)
        try:
            found: tuple[Tensor, ...] = compiled(batch)
        except TorchDynamoException as error:
            reason = " ".join(str(error).strip().partition("\n\n")[0].split())  # advice on torch's own logs follows
            raise MachineError(
                f"torch.compile failed: {reason}; `recipe.compile: false` trains without it"
            ) from error
        return found

    model.terms = terms  # type: ignore[method-assign]
    try:
        with torch._dynamo.config.patch(settings):
            yield
    finally:
        del model.terms
        torch.compiler.reset()


def mark_varying(batch: Any) -> None:
    """Declare the lengths that a batch on the device names in `varying`, and those of its parts."""
    for name in getattr(batch, "varying", ()):
        value = getattr(batch, name)
        for each in value if isinstance(value, tuple) else (value,):
            if not isinstance(each, Tensor):
                mark_varying(each)
            elif len(each) > 1:  # torch has code of its own for 0 and 1
                torch._dynamo.maybe_mark_dynamic(each, 0)

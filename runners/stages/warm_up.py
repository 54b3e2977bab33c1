"""Warm-up of a process before it computes stages, so that it is not part of a stage's measured time.

Imports libraries, loads compiled operators, and trains a discarded model for one update, which triggers the lazy
initialisation of torch: device kernels, optimiser code, threads. It does not change results.
"""

import time
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from foundation.schema import canonical, canonical_text
from runners.stages.declarations import PretrainStage
from runners.stages.stage import THREADS, StageDeclaration

MODULES = {"scikit-learn": "sklearn.linear_model"}
"""Import names that differ from the distribution's name."""


class WarmUp:
    """Completed warm-up of this process, and its total duration."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._rehearsed: set[str] = set()

    def __call__(self, declaration: StageDeclaration, inputs: dict[str, Path]) -> None:
        """Warm up for a stage; no effect if this process is already warm."""
        started = time.monotonic()
        for library in declaration.libraries:
            import_module(MODULES.get(library, library))
        if "torch" in declaration.libraries:
            _make_deterministic()
        if declaration.uses_kernels:
            _load_operators()
        import_module(f"runners.stages.{declaration.stage}")
        if isinstance(declaration, PretrainStage):
            self._rehearse(declaration, inputs["tokens"])
        self.seconds += time.monotonic() - started

    def _rehearse(self, stage: PretrainStage, tokens: Path) -> None:
        """Train a model of this candidate for one update, once."""
        candidate = canonical_text(canonical(stage.candidate))
        if candidate in self._rehearsed:
            return
        from runners.stages.pretrain import rehearse
        from runners.training.loop import NotFinite

        with suppress(NotFinite):  # the stage itself reports it
            rehearse(stage, tokens)
        self._rehearsed.add(candidate)


def _make_deterministic() -> None:
    """Set torch's global settings, so that a stage's result does not depend on the process."""
    import torch

    torch.set_num_threads(THREADS)
    torch.use_deterministic_algorithms(
        True, warn_only=torch.cuda.is_available()
    )  # some operators have no deterministic version there
    torch.set_flush_denormal(True)


def _load_operators() -> None:
    from models.kernels.native.build import library

    library()

"""Warm-up of a process before it computes stages, so that start-up is not part of a stage's measured time.

It imports libraries, loads compiled operators, and trains a discarded model for one update, which triggers the lazy
initialisation of torch: device kernels, optimiser code, threads. It does not change results.
"""

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path

from runners.stages.declarations import PretrainStage
from runners.stages.stage import THREADS, StageDeclaration
from steeplechase.foundation.schema import canonical, canonical_text

MODULES = {"scikit-learn": "sklearn.linear_model"}
"""Import names of distributions that have another name."""


class WarmUp:
    """What this process has warmed up, and the total duration in seconds."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._warm_candidates: set[str] = set()

    def __call__(self, declaration: StageDeclaration, inputs: dict[str, Path]) -> None:
        """Warm up for a stage; without effect if this process is already warm for it."""
        started = time.monotonic()
        with _garbage_uncollected():
            load_libraries(declaration)
            import_module(f"runners.stages.{declaration.stage}")
        if isinstance(declaration, PretrainStage):
            self._train_one_update(declaration, inputs["tokens"])
        self.seconds += time.monotonic() - started

    def _train_one_update(self, stage: PretrainStage, tokens: Path) -> None:
        """Train a model of this candidate for one update, once."""
        candidate = canonical_text(canonical(stage.candidate))
        if candidate in self._warm_candidates:
            return
        from runners.stages.pretrain import train_discarded_model
        from runners.training.loop import NotFinite

        with suppress(NotFinite):  # the stage reports it
            train_discarded_model(stage, tokens)
        self._warm_candidates.add(candidate)


@contextmanager
def _garbage_uncollected() -> Iterator[None]:
    """Pause garbage collection, which takes a fifth of the time of imports: they make many objects and no garbage."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def load_libraries(declaration: StageDeclaration) -> None:
    """Import a stage's libraries, with torch's settings and the compiled operators that its results depend on."""
    for library in declaration.libraries:
        import_module(MODULES.get(library, library))
    if "torch" in declaration.libraries:
        _make_deterministic()
    if declaration.uses_kernels:
        _load_operators()


def _make_deterministic() -> None:
    """Set torch's global settings, so that results do not depend on the process."""
    import torch

    torch.set_num_threads(THREADS)
    torch.use_deterministic_algorithms(
        True, warn_only=torch.cuda.is_available()
    )  # on a GPU some operators have no deterministic implementation
    torch.set_flush_denormal(True)


def _load_operators() -> None:
    from steeplechase.models.kernels.native.build import library

    library()

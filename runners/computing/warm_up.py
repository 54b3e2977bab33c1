"""Warm-up of a process before it computes stages, so that start-up is not part of a stage's measured time.

It imports libraries, loads compiled operators, and trains a discarded model for one update, which triggers the lazy
initialisation of torch: device kernels, optimiser code, threads. It does not change results.
"""

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from runners.stages.pretrain import PretrainStage
from runners.stages.progress import ProgressFile
from runners.stages.stage import THREADS, Job, StageDeclaration, stage_class
from steeplechase.foundation.schema import canonical, canonical_text

MODULES = {"scikit-learn": "sklearn.linear_model"}
"""Import names of distributions that have another name."""


class WarmUp:
    """What this process has warmed up, and the total duration in seconds."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._warm_candidates: set[str] = set()

    def __call__(self, job: Job, inputs: dict[str, Path], progress: ProgressFile) -> StageDeclaration:
        """Warm up for a stage, and return its declaration; quick if this process is already warm for it."""
        started = time.monotonic()
        with _garbage_uncollected():
            declaration = stage_class(job.stage).model_validate_json(job.declaration)
            progress(f"loading libraries: {', '.join(declaration.libraries) or 'none'}", 0.0)
            load_libraries(declaration)
        if isinstance(declaration, PretrainStage):
            self._train_one_update(declaration, inputs["tokens"])
        self.seconds += time.monotonic() - started
        return declaration

    def _train_one_update(self, stage: PretrainStage, tokens: Path) -> None:
        """Train a model of this candidate for one update, once."""
        candidate = canonical_text(canonical(stage.candidate))
        if candidate in self._warm_candidates:
            return
        from runners.computing.pretrain import train_discarded_model
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
    if find_spec(module := f"runners.computing.{declaration.stage}") is not None:
        import_module(module)
    if "torch" in declaration.libraries:
        import_module("runners.training.pretrained")
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

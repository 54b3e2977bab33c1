"""What a process does once before it computes stages of a kind, so that no stage's clock counts it.

Libraries are imported, compiled operators loaded, and one update of a model that is thrown away makes whatever torch
makes at first use: kernels for the device, optimiser code, threads. None of it changes a result.
"""

import time
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from foundation.schema import canonical, canonical_text
from runners.stages.declarations import PretrainStage
from runners.stages.stage import THREADS, StageDeclaration

MODULES = {"scikit-learn": "sklearn.linear_model"}
"""Where a distribution's import is not its name."""


class WarmUp:
    """What this process has done to get ready, and how long that took in all."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._rehearsed: set[str] = set()

    def __call__(self, declaration: StageDeclaration, inputs: dict[str, Path]) -> None:
        """Get ready for a stage; where this process is ready already, that takes no time."""
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

        with suppress(NotFinite):  # the stage itself will say so
            rehearse(stage, tokens)
        self._rehearsed.add(candidate)


def _make_deterministic() -> None:
    """Fix what a process shares with every later stage, so that a stage's result does not depend on the process."""
    import torch

    torch.set_num_threads(THREADS)
    torch.use_deterministic_algorithms(True, warn_only=torch.cuda.is_available())  # some have no such form there
    torch.set_flush_denormal(True)


def _load_operators() -> None:
    from models.kernels.native.build import library

    library()

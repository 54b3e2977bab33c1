"""Computes one stage in this process, the same way under every executor.

The process is warmed up first, so that its start is not part of a stage's measured time: libraries are imported,
compiled operators loaded, and a discarded model is trained for one update, which triggers the lazy initialisation of
torch: device kernels, optimiser code, threads. It does not change results.
"""

import os
import time
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from runners.stages.context import Diverged, ProgressFile, StageContext
from runners.stages.pretrain import PretrainStage
from runners.stages.stage import THREADS, Job, StageDeclaration, stage_class
from search_space.module_factories import allow_packages
from steeplechase.configuration.plugins import load_plugin
from steeplechase.foundation.atomic_files import full_disk_refused
from steeplechase.foundation.canonical import canonical, canonical_text
from steeplechase.foundation.devices import SHARE, Precision
from steeplechase.foundation.environment import garbage_uncollected
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.artifacts import Outcome
from steeplechase.ledger.object_artifacts import artifact_store
from steeplechase.ledger.records import Status
from steeplechase.tasks.progress import place

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
        with garbage_uncollected():
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
        import torch

        from runners.computing.pretrain import train_discarded_model
        from runners.training.loop import NotFinite

        with suppress(NotFinite, torch.OutOfMemoryError):  # the stage reports the one and goes on after the other
            train_discarded_model(stage, tokens)
        self._warm_candidates.add(candidate)


def load_libraries(declaration: StageDeclaration) -> None:
    """Import a stage's libraries, with torch's settings and the compiled operators that its results depend on."""
    for library in declaration.libraries:
        import_module(MODULES.get(library, library))
    if find_spec(module := f"runners.computing.{declaration.stage}") is not None:
        import_module(module)
    if "torch" in declaration.libraries:
        import_module("runners.training.pretrained")
        _set_numerics(*declaration.numerics)
    if declaration.uses_kernels:
        from steeplechase.models.kernels.native.build import library as operators

        operators()


def _set_numerics(precision: Precision, deterministic: bool) -> None:
    """Set torch's global settings, so that results do not depend on the process.

    Torch's attention is deterministic only where an operator that is not would raise: with warnings alone it takes
    the faster kernel and warns.
    """
    import torch

    torch.set_num_threads(THREADS)
    enforced = deterministic or not torch.cuda.is_available()
    torch.set_deterministic_debug_mode("error" if enforced else "default")  # the other function imports the compiler
    if SHARE in os.environ and torch.cuda.is_available():
        torch.cuda.set_per_process_memory_fraction(float(os.environ[SHARE]))
    torch.set_float32_matmul_precision("high" if precision == "tensorfloat32" else "highest")
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]  # nothing reads it
    torch.set_flush_denormal(True)


warm_up = WarmUp()
"""The warm-up of this process."""


def execute(job: Job) -> Outcome:
    """Return the outcome of a stage, from the store if it is cached; on return it is on disk.

    `Outcome.seconds` is the duration of `compute`, without the warm-up of the process and the verification of inputs.
    """
    for folder_of_plugin, sha256 in job.plugins:
        load_plugin(Path(folder_of_plugin), sha256)
    allow_packages(job.packages)
    store = artifact_store(Path(job.store), job.objects)
    with store.computing(job.key, job.driver) as folder:
        cached = store.outcome(job.stage, job.key)
        if cached is not None:
            return cached
        resumed = any(folder.iterdir())  # after a killed run, whose seconds are unknown
        progress = ProgressFile(store.progress_file(job.key))
        inputs = {}
        for number, (name, (kind, key)) in enumerate(job.inputs.items(), start=1):
            progress(place("verifying inputs", name, number, len(job.inputs)), 0.0)
            inputs[name] = store.read(kind, key)
        declaration = warm_up(job, inputs, progress)
        context = StageContext(inputs, folder, progress, job.plugins)
        started = time.monotonic()
        with full_disk_refused(folder):
            status, result = _run(declaration, context)
        seconds = round(time.monotonic() - started, 3)
        outcome = Outcome(status, result, seconds, None if resumed else round(warm_up.seconds, 3))
        with full_disk_refused(folder):
            keys = {name: key for name, (_, key) in job.inputs.items()}
            return store.publish(job.stage, job.key, folder, outcome, keys)


def _run(declaration: StageDeclaration, context: StageContext) -> tuple[Status, dict[str, JsonValue]]:
    try:
        return Status.FINISHED, declaration.compute(context)
    except Diverged as diverged:
        return Status.DIVERGED, diverged.result

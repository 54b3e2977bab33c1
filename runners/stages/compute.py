"""Compute one stage in this process: the same few steps under every engine."""

import time
from importlib import import_module
from pathlib import Path

from runners.kept.records import Status
from runners.kept.store import Outcome, StageStore
from runners.stages.declarations import KINDS
from runners.stages.progress import ProgressFile
from runners.stages.stage import THREADS, Job
from runners.stages.workplace import Diverged, Workplace
from search_space.declaration import JsonValue
from tasks.progress import place


def compute(job: Job) -> Outcome:
    """Return the outcome of a stage, from the store where it is already there; on return it is on disk."""
    store = StageStore(Path(job.store))
    with store.computing(job.key) as folder:
        known = store.outcome(job.stage, job.key)
        if known is not None:
            return known
        started = time.monotonic()
        progress = ProgressFile(store.progress_file(job.key))
        inputs = {}
        for number, (name, (kind, key)) in enumerate(job.inputs.items(), start=1):
            progress(place("verifying inputs", name, number, len(job.inputs)), 0.0)
            inputs[name] = store.read(kind, key)
        workplace = Workplace(inputs, folder, progress)
        status, result = _run(job, workplace)
        outcome = Outcome(status, result, round(time.monotonic() - started, 3))
        store.publish(job.stage, job.key, folder, outcome, {name: key for name, (_, key) in job.inputs.items()})
        return outcome


def _run(job: Job, workplace: Workplace) -> tuple[Status, dict[str, JsonValue]]:
    declaration = KINDS[job.stage].model_validate_json(job.declaration)
    workplace.progress(f"loading libraries: {', '.join(declaration.libraries) or 'none'}", 0.0)
    if "torch" in declaration.libraries:
        _settle()
    module = import_module(f"runners.stages.{job.stage}")
    try:
        return Status.FINISHED, module.compute(declaration, workplace)
    except Diverged as diverged:
        return Status.DIVERGED, diverged.result


def _settle() -> None:
    """Fix what a process shares with every later stage, so that a stage's result does not depend on the process."""
    import torch

    torch.set_num_threads(THREADS)
    torch.use_deterministic_algorithms(True, warn_only=torch.cuda.is_available())  # some have no such form there
    torch.set_flush_denormal(True)

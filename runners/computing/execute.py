"""Computes one stage in this process, the same way under every executor."""

import time
from pathlib import Path

from runners.computing.warm_up import WarmUp
from runners.stages.context import Diverged, StageContext
from runners.stages.progress import ProgressFile
from runners.stages.stage import Job, StageDeclaration
from search_space.module_factories import allow_packages
from steeplechase.configuration.plugins import load_plugin
from steeplechase.foundation.atomic_files import full_disk_refused
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.artifacts import Outcome
from steeplechase.ledger.object_artifacts import artifact_store
from steeplechase.ledger.records import Status
from steeplechase.tasks.progress import place

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
            store.publish(job.stage, job.key, folder, outcome, {name: key for name, (_, key) in job.inputs.items()})
        return outcome


def _run(declaration: StageDeclaration, context: StageContext) -> tuple[Status, dict[str, JsonValue]]:
    try:
        return Status.FINISHED, declaration.compute(context)
    except Diverged as diverged:
        return Status.DIVERGED, diverged.result

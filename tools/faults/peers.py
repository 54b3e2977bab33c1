"""The same kills and full disks on stock tools: Optuna's journal storage, and Ray Tune with its MLflow callback.

Nothing here can be wrong for this project: what is lost or doubled is what is caused, and the page shows it.
"""

import errno
import os
import random
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from tools.faults.layer import ALL, KILL, failing
from tools.faults.ray_kills import below
from tools.faults.row import Attempt
from tools.faults.runs import variables
from tools.faults.warm import Command, emptied, kill, orphans

TRIALS, KILLS, SECONDS = 12, 3, 120.0
RAY_TUNE = """
import sys, time
from ray import train, tune
from ray.air.integrations.mlflow import MLflowLoggerCallback
place, trials = sys.argv[1], int(sys.argv[2])
def trial(settings):
    for step in range(4):
        time.sleep(0.5)
        tune.report({"loss": settings["rate"] / (step + 1)})
callback = MLflowLoggerCallback(tracking_uri=f"sqlite:///{place}/mlflow.db", experiment_name="peer")
if tune.Tuner.can_restore(f"{place}/peer"):
    tuner = tune.Tuner.restore(f"{place}/peer", trainable=trial, resume_errored=True)
else:
    tuner = tune.Tuner(trial, param_space={"rate": tune.grid_search([*range(1, trials + 1)])},
                       tune_config=tune.TuneConfig(max_concurrent_trials=2),
                       run_config=tune.RunConfig(name="peer", storage_path=place, callbacks=[callback]))
print("ended", len([1 for result in tuner.fit() if result.metrics and result.metrics.get("training_iteration") == 4]))
"""


def attempt(chance: random.Random, scratch: Path) -> Attempt:
    """Disturb one peer until its trials are done; count what is lost, doubled or left running."""
    found = Attempt()
    (_ray_tune if chance.random() < 0.1 else _optuna)(chance, emptied(scratch / "peer"), found)
    return found


def _optuna(chance: random.Random, place: Path, found: Attempt) -> None:
    """Kill a study, or fill its disk, some times; then let it end."""
    is_kill = chance.random() < 0.5
    kind = f"Optuna, {KILLS} kills" if is_kill else "Optuna, a full disk once"
    for session in range(KILLS + 1 if is_kill else 2):
        first = ALL if session == (KILLS if is_kill else 1) else chance.randrange(1, 40)
        with failing(str(place), first, 1, KILL if is_kill else errno.ENOSPC):
            ended = Command(_study_in_fork(place), place / "log").wait(SECONDS)
    states = Counter((place / "states").read_text().split()) if ended == 0 else Counter()
    found.caused[kind] += 1
    found.caused[f"{kind}: study unreadable for ever"] += ended != 0
    found.caused[f"{kind}: trials RUNNING for ever"] += states["RUNNING"]


def _study_in_fork(place: Path) -> int:
    if pid := os.fork():
        return pid
    code = 1
    try:
        import optuna
        from optuna.storages import JournalStorage
        from optuna.storages.journal import JournalFileBackend

        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        study = optuna.create_study(
            storage=JournalStorage(JournalFileBackend(str(place / "journal"))), study_name="peer", load_if_exists=True
        )
        while sum(trial.state.name == "COMPLETE" for trial in study.trials) < TRIALS:
            trial = study.ask()
            study.tell(trial, trial.suggest_float("rate", 0, 1))
        (place.parent / "states").write_text(" ".join(trial.state.name for trial in study.trials))
        (place.parent / "states").rename(place / "states")
        code = 0
    finally:
        os._exit(code)


def _ray_tune(chance: random.Random, place: Path, found: Attempt) -> None:
    """Kill the driver of an experiment and all below it three times; restore it each time, as its guide says."""
    kind = f"Ray Tune, {KILLS} kills"
    for session in range(KILLS + 1):
        arguments = [sys.executable, "-c", RAY_TUNE, str(place), str(TRIALS)]
        environment = variables(place, mirrored=True) | {"LD_PRELOAD": "", "RAY_CHDIR_TO_TRIAL_DIR": "0"}
        with (place / "log").open("w") as log:
            command = Command(subprocess.Popen(arguments, stdout=log, stderr=log, env=environment).pid, place / "log")
        if session < KILLS:
            until = time.monotonic() + SECONDS
            while not (place / "mlflow.db").exists() and command.is_running and time.monotonic() < until:
                time.sleep(0.2)
            time.sleep(chance.uniform(5, 25))
            kill(*below(command.pid), command.pid)
        command.wait(5 * SECONDS)
        orphans(30)
    with sqlite3.connect(place / "mlflow.db") as database:
        states = Counter(state for (state,) in database.execute("SELECT status FROM runs"))
    found.caused[kind] += 1
    found.caused[f"{kind}: runs in MLflow for {TRIALS} trials"] += sum(states.values())
    found.caused[f"{kind}: of them RUNNING for ever"] += states["RUNNING"]

"""The same kills and full disks on stock tools: Optuna's journal storage, and Ray Tune with its MLflow callback.

Nothing here can be wrong for this project: what is lost or doubled is what is caused, and the page shows it.
"""

import errno
import random
import sqlite3
import sys
import time
from collections import Counter
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

from tools.faults.kills import below
from tools.faults.layer import ALL, KILL, SCRATCH, failing
from tools.faults.rows import Attempt
from tools.faults.runs import variables
from tools.faults.warm import Command, Process, emptied, kill, orphans, until

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


def peers(chance: random.Random, found: Attempt) -> None:
    """Disturb one peer until its trials are done; count what is lost, doubled or left running."""
    place = emptied(SCRATCH / "peer")
    if chance.random() < 0.1:
        _ray_tune(chance, place, found)
    else:
        _optuna(chance, place, found, KILL if chance.random() < 0.5 else errno.ENOSPC)


def _optuna(chance: random.Random, place: Path, found: Attempt, error: int) -> None:
    """Kill a study three times, or fill its disk once; then let it end."""
    kind, times = (f"Optuna, {KILLS} kills", KILLS) if error == KILL else ("Optuna, a full disk once", 1)
    for session in range(times + 1):
        with failing(str(place), chance.randrange(1, 40) if session < times else ALL, 1, error):
            ended = Process(partial(_study, place)).wait(SECONDS)
    states = Counter((place / "states").read_text().split()) if ended == 0 else Counter()
    found.caused[kind] += 1
    found.caused[f"{kind}; study unreadable for ever"] += ended != 0
    found.caused[f"{kind}; trials RUNNING for ever"] += states["RUNNING"]


def _study(place: Path) -> None:
    import optuna
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    sys.stderr = (SCRATCH / "log").open("w")
    storage = JournalStorage(JournalFileBackend(str(place / "journal")))
    study = optuna.create_study(storage=storage, study_name="peer", load_if_exists=True)
    while sum(trial.state.name == "COMPLETE" for trial in study.trials) < TRIALS:
        trial = study.ask()
        study.tell(trial, trial.suggest_float("rate", 0, 1))
    (place / "states").write_text(" ".join(trial.state.name for trial in study.trials))


def _ray_tune(chance: random.Random, place: Path, found: Attempt) -> None:
    """Kill the driver of an experiment and all below it three times; restore it each time, as its guide says."""
    kind = f"Ray Tune, {KILLS} kills"
    changes = variables(mirrored=True) | {"LD_PRELOAD": "", "RAY_CHDIR_TO_TRIAL_DIR": "0"}
    for session in range(KILLS + 1):
        command = Command((sys.executable, "-c", RAY_TUNE, place, str(TRIALS)), changes, is_fresh=True)
        if session < KILLS:
            until(SECONDS, lambda: (place / "mlflow.db").exists() or command.poll() is not None)  # noqa: B023
            time.sleep(chance.uniform(5, 25))
            kill(*below(command.pid), command.pid)
        command.wait(5 * SECONDS)
        orphans(30.0)
    states = Counter[str]()
    with (
        closing(sqlite3.connect(place / "mlflow.db")) as database,
        suppress(sqlite3.OperationalError),
    ):  # not made yet
        states += Counter(state for (state,) in database.execute("SELECT status FROM runs"))
    found.caused[kind] += 1
    found.caused[f"{kind}; not over after {5 * SECONDS:.0f} s"] += command.code is None
    found.caused[f"{kind}; runs in MLflow for {TRIALS} trials"] += states.total()
    found.caused[f"{kind}; of them RUNNING for ever"] += states["RUNNING"]

"""SIGKILL of driver, worker or all, at random moments and at durable calls; drivers at once; the same on peers."""

import errno
import random
import signal
import sqlite3
import sys
import time
from collections import Counter
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

from steeplechase.foundation.child_process import module_command
from tools.faults import runs
from tools.faults.layer import ALL, KILL, SCRATCH, failing, lead_group
from tools.faults.rows import Attempt
from tools.faults.warm import Command, Process, below, children, emptied, kill, orphans, until

REFUSED = 6
LAST_SESSION, LAST_SESSION_UNDER_RAY, FURTHER = 60, 4, 5
"""After so many sessions a run is left alone in further ones: its last stages may need longer than kills allow."""
CALLS = ("caller at a durable call", "driver and caller at a durable call")
TARGETS = {"driver": "", "worker": "ray::", "raylet": "raylet/raylet", "GCS": "gcs_server", "host": "ray_host"}
TRIALS, PEER_KILLS, PEER_SECONDS = 12, 3, 120.0
RAY_TUNE = """
import sys, time
from ray import tune
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
tuner.fit()
"""


def kills(chance: random.Random, found: Attempt) -> None:
    """Kill a run, and the same command again, until it has ended; judge what it gives."""
    folder, mirrored = emptied(SCRATCH / "killed") / chance.choice([*runs.EXPERIMENTS]), chance.random() < 0.2
    for session in range(LAST_SESSION + FURTHER):
        workers, how = chance.choice((1, 2)), chance.choice(CALLS)
        if session >= LAST_SESSION:
            command = runs.run(folder, workers, mirrored)
        elif chance.random() < 0.4:
            with failing(str(folder), chance.randrange(1, chance.choice((4, 40, 200)))) as calls:
                command = runs.run(folder, workers, mirrored, None if how == CALLS[0] else lead_group)
                command.wait(runs.LONGEST_SECONDS)
            found.caused[how] += bool(calls.fired)
        else:
            command = runs.run(folder, workers, mirrored)
            _kill(chance, command, found)
        found.wrong += runs.wrong_end(command, 0, 8, -9) + orphans()
        if command.code == 0 or found.wrong:
            break
    found.wrong[:] = found.wrong or runs.wrong_end(command, 0) or runs.wrong_results(folder, mirrored)


def _kill(chance: random.Random, command: Command, found: Attempt) -> None:
    """Kill a worker, or the driver, or both, a while after the start; then the driver in any case."""
    target = chance.choice(("tree", "driver", "worker"))
    if target == "worker":
        until(10.0, lambda: children(command.pid) or command.poll() is not None)
    time.sleep(chance.uniform(0.02, chance.choice((0.4, 1.0, 2.0))))
    if target == "worker" and (workers := children(command.pid)):
        kill(chance.choice(workers))
        found.caused["worker"] += 1
        time.sleep(chance.uniform(0.02, 1.0))
    if command.poll() is None:
        kill(command.pid, *(children(command.pid) if target == "tree" else ()))
        found.caused["tree" if target == "tree" else "driver"] += command.wait() == -9


def ray_kills(chance: random.Random, found: Attempt) -> None:
    """Kill parts of a run under Ray until it has ended; judge what it gives. Ordinary processes."""
    folder = emptied(SCRATCH / "ray") / chance.choice([*runs.EXPERIMENTS])
    words = module_command("steeplechase.commands.main", *map(str, runs.run_arguments(folder, 2)), "--engine", "ray")
    for session in range(LAST_SESSION_UNDER_RAY + FURTHER):
        command = Command(*words, variables={"LD_PRELOAD": ""}, is_fresh=True)
        if session < LAST_SESSION_UNDER_RAY:
            _kill_under_ray(chance, command, found)
        found.wrong += runs.wrong_end(command, 0, 5, 8, 75, -9, seconds=2 * runs.LONGEST_SECONDS) + orphans(60.0)
        if command.code == 0 or found.wrong:
            break
    found.wrong[:] = found.wrong or runs.wrong_end(command, 0) or runs.wrong_results(folder)


def _kill_under_ray(chance: random.Random, command: Command, found: Attempt) -> None:
    """Kill some workers, which Ray replaces, then another part or the whole tree."""
    for target in (*("worker",) * chance.randrange(4), chance.choice([*TARGETS, "tree"])):
        until(240.0, lambda: command.poll() is not None or "ray::" in " ".join(below(command.pid).values()))
        time.sleep(chance.uniform(0, 8))
        processes = below(command.pid)
        named = [pid for pid, line in processes.items() if TARGETS.get(target) and TARGETS[target] in line]
        if command.poll() is None:
            kill(*([*processes, command.pid] if target == "tree" else [chance.choice(named or [command.pid])]))
            found.caused[target if named or target == "tree" else "driver"] += 1


def at_once(chance: random.Random, found: Attempt) -> None:
    """Start two to five drivers within milliseconds; exactly one may run, and the table is the same."""
    moment, holder = chance.choice(("new", "early", "late")), chance.choice(("left alone", "suspended", "killed"))
    place = emptied(SCRATCH / "at_once")
    folder = place / "table" if moment == "new" else runs.copied("table", moment, place)
    drivers = list[Command]()
    for _ in range(chance.randrange(2, 6)):
        drivers.append(runs.run(folder))
        time.sleep(chance.choice((0.0, 0.0, 0.01, 0.1)))
    until(runs.LONGEST_SECONDS, lambda: sum(driver.poll() is None for driver in drivers) <= 1)
    ended = [driver for driver in drivers if driver.poll() not in (None, REFUSED)]
    winner = (*ended, *(driver for driver in drivers if driver.poll() is None), drivers[0])[0]
    if winner.code is not None:
        holder = "ended"
    elif holder == "killed":
        kill(winner.pid)
        winner.wait()
        winner = runs.run(folder)  # at once, while the workers of the killed one may still end
    elif holder == "suspended":
        kill(winner.pid, number=signal.SIGSTOP)
        found.wrong += runs.wrong_end(runs.run(folder), REFUSED)
        kill(winner.pid, number=signal.SIGCONT)
    found.caused[f"{moment}, holder {holder}"] += 1
    ran = [driver for driver in drivers if driver.code != REFUSED]
    found.wrong += [f"{len(ran)} drivers ran"] * (len(ran) != 1 and holder != "ended")
    found.wrong += runs.wrong_end(winner, 0) + runs.wrong_results(folder) + orphans()


def peers(chance: random.Random, found: Attempt) -> None:
    """Disturb one peer until its trials are done; count what is lost, doubled or left running: none is wrong here."""
    place = emptied(SCRATCH / "peer")
    if chance.random() < 0.1:
        _ray_tune(chance, place, found)
    else:
        _optuna(chance, place, found, KILL if chance.random() < 0.5 else errno.ENOSPC)


def _optuna(chance: random.Random, place: Path, found: Attempt, error: int) -> None:
    """Kill a study three times, or fill its disk once; then let it end."""
    kind, times = (f"Optuna, {PEER_KILLS} kills", PEER_KILLS) if error == KILL else ("Optuna, a full disk once", 1)
    for session in range(times + 1):
        with failing(str(place), chance.randrange(1, 40) if session < times else ALL, 1, error):
            ended = Process(partial(_study, place)).wait(PEER_SECONDS)
    states = Counter((place / "states").read_text().split()) if ended == 0 else Counter()
    found.caused[kind] += 1
    found.caused[f"{kind}; study unreadable for ever"] += ended != 0
    found.caused[f"{kind}; trials RUNNING for ever"] += states["RUNNING"]


def _study(place: Path) -> None:
    import optuna
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    sys.stderr = (SCRATCH / "study").open("w")
    storage = JournalStorage(JournalFileBackend(str(place / "journal")))
    study = optuna.create_study(storage=storage, study_name="peer", load_if_exists=True)
    while sum(trial.state.name == "COMPLETE" for trial in study.trials) < TRIALS:
        trial = study.ask()
        study.tell(trial, trial.suggest_float("rate", 0, 1))
    (place / "states").write_text(" ".join(trial.state.name for trial in study.trials))


def _ray_tune(chance: random.Random, place: Path, found: Attempt) -> None:
    """Kill the driver of an experiment and all below it three times; restore it each time, as its guide says."""
    kind = f"Ray Tune, {PEER_KILLS} kills"
    changes = {"LD_PRELOAD": "", "RAY_CHDIR_TO_TRIAL_DIR": "0", "MLFLOW_TRACKING_URI": ""}
    for session in range(PEER_KILLS + 1):
        command = Command(sys.executable, "-c", RAY_TUNE, place, str(TRIALS), variables=changes, is_fresh=True)
        if session < PEER_KILLS:
            until(PEER_SECONDS, lambda: (place / "mlflow.db").exists() or command.poll() is not None)  # noqa: B023
            time.sleep(chance.uniform(5, 25))
            kill(*below(command.pid), command.pid)
        command.wait(5 * PEER_SECONDS)
        orphans(30.0)
    states = Counter[str]()
    with closing(sqlite3.connect(place / "mlflow.db")) as store, suppress(sqlite3.OperationalError):  # not made yet
        states += Counter(state for (state,) in store.execute("SELECT status FROM runs"))
    found.caused[kind] += 1
    found.caused[f"{kind}; not over after {5 * PEER_SECONDS:.0f} s"] += command.code is None
    found.caused[f"{kind}; runs in MLflow for {TRIALS} trials"] += states.total()
    found.caused[f"{kind}; of them RUNNING for ever"] += states["RUNNING"]

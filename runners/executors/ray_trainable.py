"""The one door to Ray: a `ray.tune.Tuner` with a class Trainable, and adapters from Tune to the driver."""

import json
import logging
import math
import socket
import time
from pathlib import Path
from typing import Any

import ray
from ray import tune
from ray.tune.schedulers import FIFOScheduler
from ray.tune.search import Searcher

from foundation.errors import MachineError
from runners.executors.local import ONE_THREAD, QUIET
from runners.executors.ray_pipes import Driver, Hosting
from runners.executors.worker import answer, failure

ROOT = Path(__file__).resolve().parents[2]
SECONDS_BETWEEN_LOOKS = 2.0
PACKAGES = ("search_space", "models", "tasks", "runners")


def connect(hosting: Hosting) -> None:
    """Join the cluster at the address, or start Ray on this machine. Raises MachineError."""
    logging.getLogger("ray").setLevel(logging.ERROR)
    variables = {**ONE_THREAD, **QUIET}
    try:
        if hosting.address is None:
            ray.init(
                num_cpus=hosting.workers,
                include_dashboard=False,
                log_to_driver=False,
                logging_level=logging.ERROR,
                runtime_env={"env_vars": {**variables, "PYTHONPATH": str(ROOT)}},
                _temp_dir=hosting.scratch,  # its session goes with the run
            )
        else:
            modules = [str(ROOT / package) for package in PACKAGES]
            ray.init(
                hosting.address,
                log_to_driver=False,
                logging_level=logging.ERROR,
                runtime_env={"env_vars": variables, "py_modules": modules},
            )
    except (ConnectionError, RuntimeError, TimeoutError, ValueError) as error:
        first_line = str(error).partition("\n")[0]
        raise MachineError(f"Ray at {hosting.address or 'this machine'}: {first_line}") from error


def disconnect() -> None:
    """Leave the cluster; a Ray that was started here ends."""
    ray.shutdown()


def run_trials(driver: Driver, hosting: Hosting) -> None:
    """Run every trial that the driver hands out, as one Tune experiment."""
    share = gpu_share(ray.cluster_resources().get("GPU", 0), hosting.workers)
    trainable = tune.with_resources(StageTrainable, {"cpu": 1, "gpu": share})
    settings = tune.TuneConfig(
        search_alg=QueueSearcher(driver, hosting),
        scheduler=QueueScheduler(driver),
        num_samples=-1,
        max_concurrent_trials=hosting.workers,
        reuse_actors=True,
        metric="step",
        mode="max",
    )
    run_settings = tune.RunConfig(
        name="trials",
        storage_path=hosting.scratch,
        verbose=0,
        failure_config=tune.FailureConfig(max_failures=0),  # deaths are counted by the run, which hands out again
        callbacks=[NodeWatch(driver)],
        checkpoint_config=tune.CheckpointConfig(checkpoint_at_end=False),  # all there is lies in the stage store
    )
    tune.Tuner(trainable, tune_config=settings, run_config=run_settings).fit()


def own_node_lives() -> bool:
    """Return whether the Ray node that this process is connected to lives; without it nothing is ever placed."""
    own = ray.get_runtime_context().get_node_id()
    return any(node["NodeID"] == own and node["Alive"] for node in ray.nodes())


def gpu_share(gpus: float, workers: int) -> float:
    """Return the share of a GPU that each of so many trials at a time has; as few share one as can be."""
    return 1 / math.ceil(workers / gpus) if gpus >= 1 else 0.0


class StageTrainable(tune.Trainable):
    """A Tune trial whose every step computes one stage; results that are in the store come back at once."""

    def setup(self, config: dict[str, Any]) -> None:
        """Take the trial's remaining stages as lines of JSON."""
        self._lines: list[str] = list(config["jobs"])
        self._place = 0
        self._refusal = self._blindness(Path(config["visible"]), config["token"])

    def step(self) -> dict[str, Any]:
        """Compute the next stage and return its answer as a line of JSON."""
        line = self._lines[self._place]
        self._place += 1
        told = answer(line) if self._refusal is None else failure(self._refusal)
        return {"step": self._place, "answer": json.dumps(told), "done": False}

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        """Take over another trial in the same warm process."""
        self.setup(new_config)
        return True

    def _blindness(self, visible: Path, token: str) -> MachineError | None:
        """Return what is wrong where this node does not see the file that the driver has written."""
        try:
            if visible.read_text() == token:
                return None
        except OSError:
            pass
        node = f"{socket.gethostname()} ({ray.util.get_node_ip_address()})"
        return MachineError(
            f"Ray node {node} does not see {visible.parent.parent}, where the driver keeps its results; "
            "put --out on a file system that all nodes share"
        )


class QueueSearcher(Searcher):
    """Tune's searcher: proposes the trial whose task was started, and nothing of its own."""

    def __init__(self, driver: Driver, hosting: Hosting) -> None:
        super().__init__(metric="step", mode="max")
        self._driver, self._hosting = driver, hosting

    def suggest(self, trial_id: str) -> Any:
        """Return the next trial's configuration."""
        trial = self._driver.ask("next")
        if not isinstance(trial, dict):
            return trial
        return {**trial, "visible": str(self._hosting.visible), "token": self._hosting.token}

    def on_trial_complete(self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False) -> None:
        """Learn nothing: the driver has seen every result."""

    def save(self, checkpoint_path: str) -> None:
        """Keep nothing: the ledger is the memory."""

    def restore(self, checkpoint_path: str) -> None:
        """Restore nothing: the ledger is the memory."""


class QueueScheduler(FIFOScheduler):
    """Tune's scheduler: every result goes to the driver, which says whether the trial goes on or stops."""

    def __init__(self, driver: Driver) -> None:
        super().__init__()
        self._driver = driver

    def on_trial_result(self, tune_controller: Any, trial: Any, result: dict[str, Any]) -> str:
        """Pass the result on and return the driver's answer."""
        told: str = self._driver.ask("take", trial.config["trial"], result["step"], result["answer"])
        return told

    def on_trial_error(self, tune_controller: Any, trial: Any) -> None:
        """Pass on that a trial's process died; Tune is done with the trial, and tells of each death once."""
        if not own_node_lives():
            self._driver.ask("lost")
        error = trial.get_pickled_error()
        why = str(error).partition("\n")[0] or type(error).__name__
        self._driver.ask("died", trial.config["trial"], why)


class NodeWatch(tune.Callback):
    """Ends the run where Ray's node beside the driver has died: Tune would wait for it for ever."""

    def __init__(self, driver: Driver) -> None:
        self._driver, self._looked = driver, time.monotonic()

    def on_step_end(self, iteration: int, trials: list[Any], **info: Any) -> None:
        """Look at the node every few seconds."""
        if time.monotonic() - self._looked > SECONDS_BETWEEN_LOOKS:
            self._looked = time.monotonic()
            if not own_node_lives():
                self._driver.ask("lost")

"""The only import of Ray: a `ray.tune.Tuner` with a class Trainable, and adapters from Tune to the driver."""

import json
import logging
import math
import time
from pathlib import Path
from typing import Any

import ray
from ray import tune
from ray.tune.schedulers import FIFOScheduler
from ray.tune.search import Searcher
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from runners.executors.local import GROWING_SEGMENTS, ONE_THREAD, QUIET, RETURNED_MEMORY
from runners.executors.node_probe import NodeReport, environment, mistakes, named, report_of, unseen
from runners.executors.ray_pipes import Driver, Hosting
from runners.executors.worker import answer, failure
from steeplechase.foundation.devices import SHARE
from steeplechase.foundation.errors import MachineError

ROOT = Path(__file__).resolve().parents[2]
SECONDS_BETWEEN_NODE_CHECKS = 2.0
SECONDS_TO_PROBE = 120.0  # a node unpacks the modules and compiles the operators first
PACKAGES = ("steeplechase", "search_space", "runners")
"""What a worker imports: sent to the nodes of a cluster."""


def connect(hosting: Hosting) -> None:
    """Join the cluster at the address, or start Ray on this machine. Raises MachineError."""
    logging.getLogger("ray").setLevel(logging.ERROR)
    variables = {**ONE_THREAD, **QUIET, **GROWING_SEGMENTS, **RETURNED_MEMORY}
    if hosting.gpus_per_trial is not None and 0 < hosting.gpus_per_trial < 1:
        variables[SHARE] = f"{hosting.gpus_per_trial:g}"
    try:
        if hosting.address is None:
            ray.init(
                num_cpus=hosting.workers,
                include_dashboard=False,
                log_to_driver=False,
                logging_level=logging.ERROR,
                runtime_env={"env_vars": {**variables, "PYTHONPATH": str(ROOT)}},
                _temp_dir=hosting.scratch,  # removed with the run
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
    refuse_missing_gpus(hosting)
    if hosting.address is not None:
        refuse_nodes(hosting)


def refuse_nodes(hosting: Hosting) -> None:
    """Probe every node that can run a trial. Raises MachineError with a line per node that must not.

    A node that joins later is probed by its first trial.
    """
    probe = ray.remote(num_cpus=0, max_retries=1)(report_of)
    asked: dict[Any, str] = {}
    for node in ray.nodes():
        if node["Alive"] and node["Resources"].get("CPU", 0) >= 1:
            here = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
            address = node["NodeManagerAddress"]
            pending = probe.options(scheduling_strategy=here).remote(
                address, hosting.visible, hosting.token, hosting.objects, hosting.trains_on_gpu
            )
            asked[pending] = f"{node['NodeManagerHostname']} ({address})"
    answered, silent = ray.wait([*asked], num_returns=len(asked), timeout=SECONDS_TO_PROBE) if asked else ([], [])
    lines = [f"Ray node {asked[each]} does not answer within {SECONDS_TO_PROBE:.0f} s" for each in silent]
    reports: list[NodeReport] = []
    for each in answered:
        try:
            reports.append(ray.get(each))
        except ray.exceptions.RayError as error:
            first_line = str(error).strip().rpartition("\n")[2]
            lines.append(f"Ray node {asked[each]} cannot run a task: {first_line}")
    if lines := [*lines, *mistakes(reports, environment(hosting.trains_on_gpu))]:
        raise MachineError(lines)


def refuse_missing_gpus(hosting: Hosting) -> None:
    """Raise MachineError if no node has the GPUs of one trial; Tune would wait forever."""
    most = max((node["Resources"].get("GPU", 0) for node in ray.nodes() if node["Alive"]), default=0)
    if hosting.trains_on_gpu and not most:
        place = f"of the Ray cluster at {hosting.address}" if hosting.address else "here"
        raise MachineError(f"recipe.device: cuda: no node {place} has a GPU; allowed: cpu")
    if hosting.gpus_per_trial is not None and most < hosting.gpus_per_trial:
        place = f"of the Ray cluster at {hosting.address}" if hosting.address else "here"
        message = (
            f"--gpus-per-trial {hosting.gpus_per_trial:g}: no node {place} has so many GPUs; the most are {most:g}"
        )
        raise MachineError(message)


def too_many_processes(trial: dict[str, Any], hosting: Hosting) -> str | None:
    """Return why no node can ever run a trial, None if one can; Tune would wait forever."""
    if trial["processes"] > 1 and hosting.gpus_per_trial is not None and 0 < hosting.gpus_per_trial < 1:
        return (
            f"--gpus-per-trial {hosting.gpus_per_trial:g}: {trial['trial']} has recipe.processes "
            f"{trial['processes']}, which need a GPU each; allowed: {trial['processes']}"
        )
    if hosting.address is None:
        return None  # a Ray of this run counts a CPU per worker, however few there are
    most = max((node["Resources"].get("CPU", 0) for node in ray.nodes() if node["Alive"]), default=0)
    if trial["processes"] <= most:
        return None
    return (
        f"{trial['trial']}: recipe.processes {trial['processes']} needs as many CPUs on one node of the cluster; "
        f"the most are {most:g}"
    )


def disconnect() -> None:
    """Disconnect from the cluster, or end a local Ray."""
    ray.shutdown()


def run_trials(driver: Driver, hosting: Hosting) -> None:
    """Run the driver's trials as one Tune experiment."""
    share = hosting.gpus_per_trial
    if share is None:
        share = gpu_share(ray.cluster_resources().get("GPU", 0), hosting.workers)

    def resources(trial: dict[str, Any]) -> Any:
        """Return the resources of a trial; Ray on this machine has a CPU per worker, however few."""
        cpus = trial["processes"] if hosting.address else min(trial["processes"], hosting.workers)
        own = share if hosting.gpus_per_trial is not None else gpus_of_processes(share, trial["processes"])
        return tune.PlacementGroupFactory([{"CPU": cpus, **({"GPU": own} if own else {})}])

    trainable = tune.with_resources(StageTrainable, resources)
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
        failure_config=tune.FailureConfig(max_failures=0),  # the driver counts deaths and retries
        callbacks=[NodeWatch(driver)],
        checkpoint_config=tune.CheckpointConfig(checkpoint_at_end=False),  # results are in the stage store
    )
    tune.Tuner(trainable, tune_config=settings, run_config=run_settings).fit()


def own_node_lives() -> bool:
    """Return whether this process's Ray node is alive; without it no task is scheduled."""
    own = ray.get_runtime_context().get_node_id()
    return any(node["NodeID"] == own and node["Alive"] for node in ray.nodes())


def gpu_share(gpus: float, workers: int) -> float:
    """Return the share of a GPU per worker, with as few workers per GPU as possible."""
    return 1 / math.ceil(workers / gpus) if gpus >= 1 else 0.0


def gpus_of_processes(share: float, processes: int) -> float:
    """Return the GPUs of a trial whose processes have a share each: a part of one, or whole ones as Ray needs."""
    together = share * processes
    return together if together <= 1 else math.ceil(together)


class StageTrainable(tune.Trainable):
    """A Tune trial; each step computes one stage, or returns its stored result."""

    def setup(self, config: dict[str, Any]) -> None:
        """Read the trial's pending stages, as lines of JSON."""
        self._lines: list[str] = list(config["jobs"])
        self._next = 0
        self._error = self._error_of_node(Path(config["visible"]), config["token"], config["objects"])

    def step(self) -> dict[str, Any]:
        """Compute the next stage and return its answer as a line of JSON."""
        line = self._lines[self._next]
        self._next += 1
        document = answer(line) if self._error is None else failure(self._error)
        return {"step": self._next, "answer": json.dumps(document), "done": False}

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        """Start another trial in the same process."""
        self.setup(new_config)
        return True

    def _error_of_node(self, visible: Path, token: str, objects: str) -> MachineError | None:
        """Return an error if this node, which may have joined after the probe, does not see the results."""
        reason = unseen(named(ray.util.get_node_ip_address()), visible, token, objects)
        return MachineError(reason) if reason else None


class QueueSearcher(Searcher):
    """Tune's searcher: suggests the trials that the driver starts."""

    def __init__(self, driver: Driver, hosting: Hosting) -> None:
        super().__init__(metric="step", mode="max")
        self._driver, self._hosting = driver, hosting

    def suggest(self, trial_id: str) -> Any:
        """Return the next trial's configuration."""
        trial = self._driver.ask("next")
        if not isinstance(trial, dict):
            return trial
        if (refused := too_many_processes(trial, self._hosting)) is not None:
            self._driver.ask("refused", refused)
        hosting = self._hosting
        return {**trial, "visible": str(hosting.visible), "token": hosting.token, "objects": hosting.objects}

    def on_trial_complete(self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False) -> None:
        """Do nothing: the driver has every result."""

    def save(self, checkpoint_path: str) -> None:
        """Do nothing: the state is in the ledger."""

    def restore(self, checkpoint_path: str) -> None:
        """Do nothing: the state is in the ledger."""


class QueueScheduler(FIFOScheduler):
    """Tune's scheduler: forwards every result to the driver, which decides whether the trial continues."""

    def __init__(self, driver: Driver) -> None:
        super().__init__()
        self._driver = driver

    def on_trial_result(self, tune_controller: Any, trial: Any, result: dict[str, Any]) -> str:
        """Forward the result and return the driver's decision."""
        decision: str = self._driver.ask("take", trial.config["trial"], result["step"], result["answer"])
        return decision

    def on_trial_error(self, tune_controller: Any, trial: Any) -> None:
        """Report the death of a trial's process; Tune calls this once per death and drops the trial."""
        if not own_node_lives():
            self._driver.ask("lost")
        error = trial.get_pickled_error()
        reason = str(error).partition("\n")[0] or type(error).__name__
        self._driver.ask("died", trial.config["trial"], reason)


class NodeWatch(tune.Callback):
    """Ends the run if the driver's Ray node has died; Tune would wait forever."""

    def __init__(self, driver: Driver) -> None:
        self._driver, self._last_check = driver, time.monotonic()

    def on_step_end(self, iteration: int, trials: list[Any], **info: Any) -> None:
        """Check the node every few seconds."""
        if time.monotonic() - self._last_check > SECONDS_BETWEEN_NODE_CHECKS:
            self._last_check = time.monotonic()
            if not own_node_lives():
                self._driver.ask("lost")

"""The one door to Ray: a `ray.tune.Tuner` with a class Trainable, and adapters from Tune to the course."""

import json
import logging
import signal
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ray
from ray import tune
from ray.tune.schedulers import TrialScheduler
from ray.tune.search import Searcher

from runners.engines.hall import RETRIES, Hall
from runners.engines.local import ONE_THREAD, QUIET
from runners.engines.worker import answer
from search_space.refusals import EnvironmentRefused

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("search_space", "models", "tasks", "runners")


def connect(workers: int, address: str | None) -> None:
    """Join the cluster at the address, or start Ray on this machine. Raises EnvironmentRefused."""
    logging.getLogger("ray").setLevel(logging.ERROR)
    variables = {**ONE_THREAD, **QUIET}
    stopping = signal.getsignal(signal.SIGTERM)
    try:
        if address is None:
            ray.init(
                num_cpus=workers,
                include_dashboard=False,
                log_to_driver=False,
                logging_level=logging.ERROR,
                runtime_env={"env_vars": {**variables, "PYTHONPATH": str(ROOT)}},
            )
        else:
            modules = [str(ROOT / package) for package in PACKAGES]
            ray.init(address, log_to_driver=False, runtime_env={"env_vars": variables, "py_modules": modules})
    except (ConnectionError, RuntimeError, TimeoutError, ValueError) as error:
        first_line = str(error).partition("\n")[0]
        raise EnvironmentRefused(f"Ray at {address or 'this machine'}: {first_line}") from error
    signal.signal(signal.SIGTERM, stopping)  # `ray.init` has put its own in the place of the run's


def disconnect() -> None:
    """Leave the cluster; a Ray that was started here ends."""
    ray.shutdown()


def run_course(hall: Hall, workers: int, glance: Callable[[], None]) -> None:
    """Run every trial of the course as one Tune experiment."""
    share = ray.cluster_resources().get("GPU", 0) / workers
    trainable = tune.with_resources(StageTrainable, {"cpu": 1, "gpu": min(1.0, share)})
    settings = tune.TuneConfig(
        search_alg=CourseSearcher(hall),
        scheduler=CourseScheduler(hall),
        num_samples=-1,
        reuse_actors=True,
        metric="step",
        mode="max",
    )
    with tempfile.TemporaryDirectory(prefix="steeplechase-tune-") as scratch:
        run_settings = tune.RunConfig(
            name="course",
            storage_path=scratch,
            verbose=0,
            failure_config=tune.FailureConfig(max_failures=RETRIES),
            callbacks=[Glance(glance)],
        )
        tune.Tuner(trainable, tune_config=settings, run_config=run_settings).fit()


class StageTrainable(tune.Trainable):
    """A Tune trial whose every step computes one stage; results that are in the store come back at once."""

    def setup(self, config: dict[str, Any]) -> None:
        """Take the trial's remaining stages as lines of JSON."""
        self._lines: list[str] = list(config["jobs"])
        self._place = 0

    def step(self) -> dict[str, Any]:
        """Compute the next stage and return its answer as a line of JSON."""
        line = self._lines[self._place]
        self._place += 1
        return {"step": self._place, "answer": json.dumps(answer(line)), "done": False}

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        """Take over another trial in the same warm process."""
        self.setup(new_config)
        return True

    def save_checkpoint(self, checkpoint_dir: str) -> None:
        """Keep the place in the list of stages; all else is in the stage store."""
        Path(checkpoint_dir, "place.json").write_text(json.dumps(self._place))

    def load_checkpoint(self, checkpoint: Any) -> None:
        """Take up the place that was kept."""
        self._place = int(json.loads(Path(checkpoint, "place.json").read_text()))


class CourseSearcher(Searcher):
    """Tune's searcher: proposes what the course has next, and nothing of its own."""

    def __init__(self, hall: Hall) -> None:
        super().__init__(metric="step", mode="max")
        self._hall = hall

    def suggest(self, trial_id: str) -> Any:
        """Return the next trial's configuration."""
        return self._hall.next_trial()

    def on_trial_complete(self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False) -> None:
        """Learn nothing: the course has seen every result."""

    def save(self, checkpoint_path: str) -> None:
        """Keep nothing: the ledger is the memory."""

    def restore(self, checkpoint_path: str) -> None:
        """Restore nothing: the ledger is the memory."""


class CourseScheduler(TrialScheduler):
    """Tune's scheduler: every result goes to the course, which says whether the trial goes on, waits or stops."""

    def __init__(self, hall: Hall) -> None:
        super().__init__()
        self._hall = hall

    def on_trial_add(self, tune_controller: Any, trial: Any) -> None:
        """Know the trial already."""

    def on_trial_error(self, tune_controller: Any, trial: Any) -> None:
        """Record a trial whose process died more often than it is replaced."""
        self._hall.give_up(trial.config["trial"])

    def on_trial_result(self, tune_controller: Any, trial: Any, result: dict[str, Any]) -> str:
        """Pass the result on and return the course's answer."""
        return self._hall.take(trial.config["trial"], result["step"], result["answer"])

    def on_trial_complete(self, tune_controller: Any, trial: Any, result: dict[str, Any]) -> None:
        """Have recorded it already."""

    def on_trial_remove(self, tune_controller: Any, trial: Any) -> None:
        """Keep its records."""

    def choose_trial_to_run(self, tune_controller: Any) -> Any:
        """Return the earliest trial that has not started, or that waited at a hurdle and may go on.

        One that waited and was stopped is ended: Tune itself would wait for it for ever.
        """
        for trial in list(tune_controller.get_trials()):
            paused = trial.status == "PAUSED"
            if paused and self._hall.course.ended(trial.config["trial"]):
                self._hall.release(trial.config["trial"])
                tune_controller.stop_trial(trial)
            elif trial.status == "PENDING" or (paused and self._hall.course.waiting(trial.config["trial"])):
                return trial
        return None

    def debug_string(self) -> str:
        """Return what Tune prints of its scheduler."""
        return "course"


class Glance(tune.Callback):
    """Lets the driver show progress from Tune's loop."""

    def __init__(self, glance: Callable[[], None]) -> None:
        self._glance = glance

    def __getstate__(self) -> dict[str, Any]:
        """Give nothing to Tune's pickle of itself."""
        return {}

    def on_step_end(self, iteration: int, trials: list[Any], **info: Any) -> None:
        """Look at the progress files."""
        self._glance()

"""Overhead per trial of the local executor, the Ray executor, and a plain Ray Tune function trainable.

All three run the same short trials (one update each) on one worker in one run of this script. The overhead is the
wall time from the first trial's end to the last trial's end, minus the seconds of the trials' stages.
Usage: python -m benchmarks.trial_overhead [TRIALS]
"""

import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Literal

from rich.console import Console
from rich.table import Table

from runners.dag import shared_stages
from runners.executors import open_executor
from runners.executors.local import LocalExecutor
from runners.executors.worker import as_line
from runners.journal import Journal
from runners.limits import UNLIMITED
from runners.meter import Meter
from runners.opening import RunRequest, open_ledger
from runners.run import advance
from runners.settings import RunSettings
from runners.stage_watch import StageWatch
from runners.stages.stage import Job, this_driver
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.loading import load_experiment
from steeplechase.ledger.artifacts import ArtifactStore
from steeplechase.ledger.database import Ledger
from steeplechase.ledger.paths import ResultPaths

EXPERIMENT = Path(__file__).parents[1] / "experiments/table2.yaml"
SHARED = ("corpus", "tokens", "evaluation_set")


def main(trials: int) -> None:
    """Measure and print one table."""
    with tempfile.TemporaryDirectory() as scratch:
        prepared = Path(scratch) / "prepared"
        experiment = _short(trials)
        _shared(experiment, prepared)
        engines: tuple[Literal["local", "ray"], ...] = ("local", "ray")
        seconds: dict[str, float] = {
            name: _engine(experiment, name, prepared, Path(scratch) / name) for name in engines
        }
        seconds["ray.tune function trainable"] = _plain_tune(experiment, prepared, Path(scratch) / "plain")
    table = Table("engine", "added seconds per trial", "x the local engine", title=f"{trials} trials on one worker")
    for name, cost in seconds.items():
        table.add_row(name, f"{cost:.3f}", f"{cost / seconds['local']:.1f}")
    Console().print(table)


def _short(trials: int) -> Experiment:
    experiment = load_experiment(EXPERIMENT, "smoke")
    recipe = experiment.baseline.recipe
    pretraining = experiment.pretraining.model_copy(
        update={"tokens": recipe.tokens_per_step, "evaluations": 1, "seeds": tuple(range(1, trials // 6 + 1))}
    )
    tuning = experiment.fine_tuning.model_copy(update={"tasks": ()})
    return experiment.model_copy(update={"pretraining": pretraining, "fine_tuning": tuning})


def _shared(experiment: Experiment, folder: Path) -> None:
    request = RunRequest(experiment, "smoke", ResultPaths(folder, folder))
    with open_ledger(request) as ledger:
        journal = _journal(experiment, request, ledger)
        with LocalExecutor(request.paths.stages, 1) as executor:
            while journal.state.shared_pending:
                advance(journal, executor, Meter(UNLIMITED, journal), lambda: None, _watch(request))


def _watch(request: RunRequest) -> StageWatch:
    return StageWatch(ArtifactStore(request.paths.stages), this_driver())


def _journal(experiment: Experiment, request: RunRequest, ledger: Ledger) -> Journal:
    journal = Journal(experiment, shared_stages(experiment), ArtifactStore(request.paths.stages), ledger)
    journal.reuse_shared()
    return journal


def _engine(experiment: Experiment, name: Literal["local", "ray"], prepared: Path, folder: Path) -> float:
    shutil.copytree(prepared / "stages", folder / "stages")
    settings = RunSettings(engine=name, workers=1)
    request = RunRequest(experiment, "smoke", ResultPaths(folder, folder), settings)
    ends: list[float] = []
    with open_ledger(request) as ledger:
        journal = _journal(experiment, request, ledger)
        recorded = journal.trial_progress.recorded
        with open_executor(request.paths.stages, settings) as executor:
            meter = Meter(UNLIMITED, journal)
            while advance(
                journal,
                executor,
                meter,
                lambda: ends.extend([time.monotonic()] * (len(recorded) - len(ends))),
                _watch(request),
            ):
                pass
        own = sum(record.seconds for record in recorded[1:])
    return (ends[-1] - ends[0] - own) / (len(ends) - 1)


def _plain_tune(experiment: Experiment, prepared: Path, folder: Path) -> float:
    """Run the same jobs with a function trainable, Tune's defaults and one report per trial."""
    import ray
    from ray import tune

    shutil.copytree(prepared / "stages", folder / "stages")
    request = RunRequest(experiment, "smoke", ResultPaths(folder, folder))
    with open_ledger(request) as ledger:
        journal = _journal(experiment, request, ledger)
        journal.decide_next()
        stages = [task.stage for task in journal.trial_progress.remaining]
    lines = [as_line(Job.of(stage, str((folder / "stages").resolve()))) for stage in stages]
    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False)
    settings = tune.RunConfig(storage_path=str(folder / "tune"), verbose=0)
    tuner = tune.Tuner(_trainable, param_space={"line": tune.grid_search(lines)}, run_config=settings)
    results = tuner.fit()
    ray.shutdown()
    trials = sorted((result.metrics["ended"], result.metrics["seconds"]) for result in results)
    own = sum(seconds for _, seconds in trials[1:])
    return float((trials[-1][0] - trials[0][0] - own) / (len(trials) - 1))


def _trainable(config: dict[str, str]) -> None:
    from ray import tune

    from runners.executors.worker import answer

    outcome = answer(config["line"])
    tune.report({"seconds": outcome["seconds"], "ended": time.time()})


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 24)

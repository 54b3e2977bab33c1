"""The sweep on Ray Tune with its MLflow callback; the Trainer trains each trial."""

import os
import sys
from pathlib import Path

from ray import tune
from ray.air.integrations.mlflow import MLflowLoggerCallback
from trainer_trial import KERNEL_SIZES, SEEDS, print_table, run_trial

FOLDER, CODE = Path.cwd(), str(Path(__file__).parent)


def trainable(config: dict[str, int]) -> None:
    """Run a trial in the folder of the sweep and report its metrics."""
    sys.path.insert(0, CODE)
    os.chdir(FOLDER)
    tune.report(run_trial(config["kernel_size"], config["seed"], "none"))


if __name__ == "__main__":
    kept = FOLDER / "tune" / "whole_job"
    if tune.Tuner.can_restore(str(kept)):
        tuner = tune.Tuner.restore(str(kept), trainable, resume_unfinished=True, restart_errored=True)
    else:
        tuner = tune.Tuner(
            trainable,
            param_space={"kernel_size": tune.grid_search(KERNEL_SIZES), "seed": tune.grid_search(SEEDS)},
            tune_config=tune.TuneConfig(max_concurrent_trials=1),
            run_config=tune.RunConfig(
                name="whole_job",
                storage_path=str(FOLDER / "tune"),
                callbacks=[MLflowLoggerCallback(f"sqlite:///{FOLDER}/mlflow.db", experiment_name="whole_job")],
            ),
        )
    print_table([(result.config["kernel_size"], result.metrics) for result in tuner.fit()])

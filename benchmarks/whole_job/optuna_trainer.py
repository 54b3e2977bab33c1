"""The sweep by hand: Optuna draws the trials and keeps them in SQLite, the Trainer logs to MLflow."""

import os

os.environ["MLFLOW_TRACKING_URI"] = "sqlite:///mlflow.db"
os.environ["MLFLOW_EXPERIMENT_NAME"] = "whole_job"

import optuna
from trainer_trial import KERNEL_SIZES, SEEDS, print_table, run_trial


def objective(trial: optuna.Trial) -> float:
    """Run a trial; its accuracy is an attribute."""
    kernel_size = trial.suggest_categorical("kernel_size", KERNEL_SIZES)
    seed = trial.suggest_categorical("seed", SEEDS)
    found = run_trial(kernel_size, seed, "mlflow")
    trial.set_user_attr("accuracy", found["accuracy"])
    return found["held_out_loss"]


if __name__ == "__main__":
    study = optuna.create_study(
        storage="sqlite:///study.db",
        study_name="whole_job",
        load_if_exists=True,
        sampler=optuna.samplers.GridSampler({"kernel_size": KERNEL_SIZES, "seed": SEEDS}, seed=0),
    )
    study.optimize(objective)
    print_table(
        [
            (trial.params["kernel_size"], {"held_out_loss": trial.value, **trial.user_attrs})
            for trial in study.get_trials(states=[optuna.trial.TrialState.COMPLETE])
        ]
    )

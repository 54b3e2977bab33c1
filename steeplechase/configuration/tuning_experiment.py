"""The experiment of the tuning trials: tuning's budget and seeds, no hurdles, tasks only if they select the point."""

from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.hurdles import Finite
from steeplechase.configuration.measurements import Measures


def tuning_view(experiment: Experiment) -> Experiment:
    """Return the experiment of the tuning trials; the given experiment must have `tune`."""
    tune = experiment.tune
    assert tune is not None
    settings = {
        "tokens": tune.tokens or experiment.pretraining.tokens,
        "seeds": tune.seeds,
        "hurdle": Finite(),
        "audit": None,
    }
    tasks = experiment.fine_tuning.tasks if tune.metric == "score" else ()
    return experiment.model_copy(
        update={
            "pretraining": experiment.pretraining.model_copy(update=settings),
            "fine_tuning": experiment.fine_tuning.model_copy(update={"tasks": tasks}),
            "measure": Measures(),
            "tune": None,
        }
    )

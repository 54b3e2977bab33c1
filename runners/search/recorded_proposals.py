"""Proposals of Optuna's TPE among recorded configurations, for `replay`; studies are as in `optuna_sampler`."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

from runners.search.optuna_sampler import told_trial


@dataclass(frozen=True)
class Told:
    """A recorded candidate that a replayed search has seen."""

    point: tuple[float, ...]
    """Numbers of labels, and numbers in [0, 1] [axes]."""
    losses: tuple[float, ...]
    final: float | None


def next_points(
    labels: Sequence[Sequence[str] | None], told: Sequence[Told], seed: int, count: int, startup: int
) -> list[tuple[float, ...]]:
    """Return proposals of TPE in a space of recorded configurations; axes have labels, or None for numbers."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
    choices, numbers = optuna.distributions.CategoricalDistribution, optuna.distributions.FloatDistribution(0.0, 1.0)
    axes: dict[str, optuna.distributions.BaseDistribution] = {
        str(axis): numbers if known is None else choices(range(len(known))) for axis, known in enumerate(labels)
    }
    sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=startup, constant_liar=True)
    study = optuna.create_study(sampler=sampler)
    for each in told:
        place = dict(zip(axes, each.point, strict=True))
        point = {axis: value if axes[axis] is numbers else int(value) for axis, value in place.items()}
        study.add_trial(told_trial(axes, point, each.losses, None if each.final is None else [each.final]))
    return [tuple(float(trial.params[axis]) for axis in axes) for trial in (study.ask(axes) for _ in range(count))]

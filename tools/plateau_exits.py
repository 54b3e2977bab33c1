"""When the seeds of each arm leave the plateau of the loss that all arms share (`analysis/plateau.py`)."""

from collections.abc import Mapping

from reports.statistics.results import Results
from steeplechase.analysis.plateau import plateau_of
from steeplechase.configuration.stage_label import PRETRAIN
from steeplechase.ledger.snapshot import TrialHistory
from steeplechase.ledger.stage_results import Pretraining, finite_points


def plateau_exits(results: Results) -> Mapping[str, list[float | None]]:
    """Return by arm the tokens at which each of its seeds leaves the plateau; None where a seed never does."""
    trials = {arm.name: results.trials[arm.name] for arm in results.arms}
    plateau = plateau_of(
        {each.trial.name: _training_curve(each) for histories in trials.values() for each in histories}
    )
    exits = {} if plateau is None else plateau.exits
    return {arm: [exits.get(each.trial.name) for each in histories] for arm, histories in trials.items()}


def _training_curve(history: TrialHistory) -> dict[int, float]:
    curve: dict[int, float] = {}
    for record in history.finished(PRETRAIN):
        if isinstance(record.result, Pretraining):
            curve |= finite_points(record.result.train_curve)
    return curve

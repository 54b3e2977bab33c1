"""What is tried next: a design's own arms, or a search's next cohort made from the ledger's results."""

from runners.designs import Search
from runners.designs.arm import BASELINE, Arm, changed_arm
from runners.experiment import Experiment
from runners.ledger import Ledger
from runners.sampling import Seen, importance, propose
from runners.standing import TrialHistory, history_of
from search_space.declaration import JsonValue


def next_cohort(experiment: Experiment, number: int, ledger: Ledger) -> tuple[Arm, ...]:
    """Return the arms of cohort `number`, none where the design has no more; the first holds the baseline."""
    design = experiment.design
    first = experiment.arms if number == 0 else ()
    if not isinstance(design, Search):
        return first
    known = len(ledger.arms()) + len(first)
    wanted = min(design.candidates_in_all - known, design.cohort - len(first))
    if wanted <= 0:
        return first
    points = propose(design, experiment.baseline, seen_by_search(experiment, ledger), number, wanted)
    proposed = (
        changed_arm(f"candidate-{known + position:03d}", experiment.baseline, point)
        for position, point in enumerate(points)
    )
    return (*first, *proposed)


def importance_of_axes(experiment: Experiment, ledger: Ledger) -> dict[str, JsonValue]:
    """Return each axis's share of the variance of the held-out loss at the first mark; empty where it is unknown."""
    assert isinstance(experiment.design, Search)
    return {**importance(experiment.design, experiment.baseline, seen_by_search(experiment, ledger))}


def seen_by_search(experiment: Experiment, ledger: Ledger) -> tuple[Seen, ...]:
    """Return what earlier candidates achieved, in the order in which they were proposed."""
    records, decisions = ledger.records(), ledger.decisions()
    histories: dict[str, list[TrialHistory]] = {}
    for trial in ledger.trials():
        histories.setdefault(trial.arm, []).append(history_of(trial, records, decisions, ()))
    marks = len(experiment.pretraining.hurdle.token_marks) + 1
    return tuple(_seen(arm.name, arm.changes, histories[arm.name], marks) for arm in ledger.arms())


def _seen(name: str, changes: object, histories: list[TrialHistory], marks: int) -> Seen:
    assert isinstance(changes, dict)
    per_seed = [[_loss(record.result) for record in history.finished("pretrain")] for history in histories]
    reached = min(len(losses) for losses in per_seed)
    losses = [sum(seed[level] for seed in per_seed) / len(per_seed) for level in range(reached)]
    return Seen({} if name == BASELINE else changes, tuple(losses), complete=reached == marks)


def _loss(result: object) -> float:
    assert isinstance(result, dict)
    loss: JsonValue = result["held_out_loss"]
    assert isinstance(loss, float)
    return loss

"""Warnings about vectors that classify what they have not read. Pure."""

from collections.abc import Iterator

from search_space.objective.auxiliary_loss import WithAuxiliaryLosses
from search_space.objective.segment_pair import SegmentPair
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.fine_tuning_runs import fine_tuning_runs, is_frozen
from steeplechase.configuration.validation.arm_names import named
from steeplechase.tasks.own_tasks.derived import FeatureTask

POOLED = ("single", "pair", "choice")
"""Forms of tasks whose classifier reads one pooled vector."""
BLIND = {("left_to_right", "first"): POOLED, ("right_to_left", "last"): POOLED, ("prefix", "first"): POOLED[1:]}
"""By visibility and pooling, the forms of tasks whose pooled vector has not read the whole of their texts."""


def unread_texts(experiment: Experiment) -> Iterator[str]:
    """Yield the arms whose classifier reads a token that is hidden from the text, by visibility and pooling."""
    tuning = experiment.fine_tuning
    runs = [
        run
        for run in fine_tuning_runs(tuning)
        if not is_frozen(tuning, run.task) and not isinstance(tuning.own_tasks.get(run.task), FeatureTask)
    ]
    found: dict[tuple[str, str], dict[str, set[str]]] = {}
    for arm in experiment.arms:
        visibility, own = arm.candidate.architecture.visibility, arm.candidate.fine_tuning.pooling
        for run in runs:
            pair = (visibility, own or run.settings.pooling)
            if pair in BLIND and tuning.find(run.task).form in BLIND[pair]:
                where = found.setdefault(pair, {"arms": set(), "tasks": set()})
                where["arms"].add(arm.name)
                where["tasks"].add(run.task)
    for (direction, pooled), where in found.items():
        yield (
            f"{named(sorted(where['arms']), len(experiment.arms))}: with visibility {direction} the vector of "
            f"fine_tuning.pooling {pooled} has not read the whole of a text of {', '.join(sorted(where['tasks']))}. "
            f"Write pooling: {'last' if pooled == 'first' else 'first'}, or mean"
        )


def unread_pairs(experiment: Experiment) -> Iterator[str]:
    """Yield the arms whose objective classifies pairs of segments by a [CLS] that is hidden from the second one."""
    found: dict[tuple[str, str], list[str]] = {}
    for arm in experiment.arms if experiment.pretrains else ():
        visibility, objective = arm.candidate.architecture.visibility, arm.candidate.objective
        losses = objective.auxiliary_losses if isinstance(objective, WithAuxiliaryLosses) else ()
        pairs = [each.kind for each in losses if isinstance(each, SegmentPair) and each.pair_weight]
        for kind in pairs if "pair" in BLIND.get((visibility, "first"), ()) else ():
            found.setdefault((visibility, kind), []).append(arm.name)
    for (direction, kind), names in found.items():
        yield (
            f"{named(names, len(experiment.arms))}: with visibility {direction} the vector of [CLS], by which "
            f"{kind} classifies pairs, has not read the second segment. Write pair_weight: 0 for the same pairs "
            "without that loss"
        )

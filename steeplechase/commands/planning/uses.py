"""What an arm of a plan is for: the metrics, comparisons and claims that need it."""

from collections.abc import Iterator, Mapping

from reports.statistics.isolated_pairs import isolated_pairs
from steeplechase.configuration.arm import BASELINE, Arm
from steeplechase.configuration.claims import parse_orderings
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.metrics import HELD_OUT_LOSS, SCORE

METRIC, TUNED, MATCHED, COMPARISON, CLAIM = (
    "metric",
    "tuned metric",
    "matched metric",
    "one-change comparison",
    "claim",
)
PAIRS_AMONG_AT_MOST = 128
"""Maximum number of arms for the search of pairs, which is quadratic."""
Uses = Mapping[str, Mapping[str, tuple[str, ...]]]
"""By arm and kind of use."""


def uses_of(experiment: Experiment) -> Uses:
    """Return the uses of every arm."""
    tasks = tuple(sorted(experiment.fine_tuning.tasks))
    metrics = (HELD_OUT_LOSS, *tasks, *([SCORE] if len(tasks) > 1 else []))
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for arm in experiment.arms:
        found[arm.name] = {METRIC: metrics}
        if experiment.tune is not None and arm.name != BASELINE:
            found[arm.name][TUNED] = metrics
    for arm in experiment.arms:
        for name in (arm.name, arm.matched_arm) if arm.matched_arm is not None else ():
            found[name][MATCHED] = metrics
    for name, pairs in _pairs(experiment.arms).items():
        found[name][COMPARISON] = pairs
    for name, text in _claimed(experiment):
        found[name][CLAIM] = (*found[name].get(CLAIM, ()), text)
    return found


def _claimed(experiment: Experiment) -> Iterator[tuple[str, str]]:
    """Yield each arm of a claim or an ordering, with its text."""
    for claim in experiment.claims:
        yield from ((name, str(claim)) for name in claim.arms)
    for chain in experiment.paper.orderings if experiment.paper else ():
        for ordering in parse_orderings(chain):
            yield from ((name, str(ordering)) for name in (ordering.first, ordering.second))


def _pairs(arms: tuple[Arm, ...]) -> dict[str, tuple[str, ...]]:
    if len(arms) > PAIRS_AMONG_AT_MOST:
        return {}
    found: dict[str, tuple[str, ...]] = {}
    for pair in isolated_pairs(arms, arms[0].candidate):
        for name in (pair.arm, pair.reference):
            found[name] = (*found.get(name, ()), f"{pair.arm} − {pair.reference}")
    return found

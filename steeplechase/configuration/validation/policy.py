"""Rules between the policy of a search and the rest of an experiment."""

from collections.abc import Iterator

from steeplechase.configuration.arm import BASELINE
from steeplechase.configuration.experiment import Experiment
from steeplechase.foundation.errors import Violation


def policy_violations(experiment: Experiment) -> Iterator[Violation]:
    """Yield a policy without pauses, pauses without a policy, and arms that no policy could propose."""
    search, hurdle = experiment.search, experiment.pretraining.hurdle
    pauses = hurdle.kind == "pause"
    policy = None if search is None else search.policy
    if policy is None:
        if pauses and search is not None:
            message = "no one decides at its rungs. Did you mean to name a policy in the design, policy: random?"
            yield Violation(("pretraining", "hurdle", "kind"), message)
        return
    if not pauses:
        message = (
            f"policy {policy} needs rungs at which trials pause: {{kind: pause, rungs: [...]}}, not {hurdle.kind}"
        )
        yield Violation(("pretraining", "hurdle", "kind"), message)
    if names := [arm.name for arm in experiment.accepted_arms if arm.name != BASELINE]:
        message = f"policy {policy} draws every candidate itself; {', '.join(names)} would not enter. Leave them out"
        yield Violation(("design",), message)

"""Rules on `data:`: names that exist, texts and vocabularies that arms can have, and what compares them."""

from collections.abc import Iterator

from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.validation.arms import by_objective_violations
from steeplechase.foundation.errors import Violation, did_you_mean

AXIS = "data"


def data_violations(experiment: Experiment) -> Iterator[Violation]:
    """Yield unknown and idle names of data, and vocabularies over which arms could not be compared."""
    if (name := experiment.baseline.data) is not None:
        message = f"{name} of the baseline: it has the experiment's corpus and tokenizer; leave it out"
        yield Violation(("baseline", AXIS), message)
    used = _users(experiment)
    for name, users in used.items():
        if name not in experiment.data:
            known = ", ".join(experiment.data) or "none; declare it as data: { NAME: { corpus: … } }"
            message = f"{', '.join(users)}: {name!r} is not declared.{did_you_mean(name, experiment.data)}"
            yield Violation(("design",), f"{message} Allowed: {known}")
    for name, data in experiment.data.items():
        if data.corpus is None and data.tokenizer is None:
            yield Violation((AXIS, name), "changes nothing; name a corpus, a tokenizer or both")
        elif name not in used:
            yield Violation(
                (AXIS, name), f"no arm has it. Write data: {name} in an arm, or an axis data of the design"
            )
        if data.corpus is not None and experiment.mentions is not None:
            yield Violation((AXIS, name, "corpus"), "mentions are of the experiment's text; leave one of them out")
    if used and not experiment.pretrains:
        yield Violation((AXIS,), "nothing is pretrained, so that no arm reads another text; leave it out")
    yield from _vocabulary_violations(experiment, used)


def _users(experiment: Experiment) -> dict[str, list[str]]:
    """Return the arms with data of each name; a search's axis counts as one."""
    used: dict[str, list[str]] = {}
    for arm in experiment.accepted_arms:
        if arm.candidate.data is not None and arm.candidate != experiment.baseline:
            used.setdefault(arm.candidate.data, []).append(arm.name)
    search = experiment.search
    for value in () if search is None else search.space.get(AXIS, ()):
        if value is not None:
            used.setdefault(str(value), []).append(f"design.space.{AXIS}")
    return used


def _vocabulary_violations(experiment: Experiment, used: dict[str, list[str]]) -> Iterator[Violation]:
    """Yield arms with a vocabulary of their own where losses per token would be compared with those of another."""
    own = {name for name, data in experiment.data.items() if data.tokenizer is not None and name in used}
    if not own:
        return
    users = ", ".join(dict.fromkeys(user for name in sorted(own) for user in used[name]))
    if experiment.initial_checkpoint(experiment.baseline) is not None:
        yield Violation((AXIS,), f"{users}: an initial checkpoint has its own vocabulary; leave data's tokenizer out")
    if experiment.pretraining.evaluation_sets != "by_objective":
        reason = "held-out losses per token of two vocabularies are not comparable"
        remedy = "write pretraining.evaluation_sets: by_objective to compare on tasks alone"
        language_models = "measure.perplexity has bits per character of language models"
        yield Violation(("design",), f"{users}: {reason}; {remedy}. {language_models}")
    else:
        yield from by_objective_violations(experiment)

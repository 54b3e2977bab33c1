"""The finding's sentence on what pretraining is worth: the tasks on which an arm exceeds the untrained encoder."""

from collections.abc import Iterator

from reports.number_format import fixed
from reports.statistics.results import Results
from reports.statistics.task_pilot import PilotedArm, pilot_of
from steeplechase.ledger.task_references import TITLES, UNTRAINED_ENCODER

DECIMALS = 1


def pretraining_sentence(results: Results) -> str:
    """Return by task the best arm beside the untrained encoder and what is above it; empty without such encoders."""
    if not results.experiment.fine_tuning.untrained_seeds:
        return ""
    piloted = [one for one in pilot_of(results) if one.low is not None and one.task.untrained]
    exceeding = [one for one in piloted if UNTRAINED_ENCODER in one.exceeded]
    tasks = [*_best_by_task(exceeding)]
    if not tasks:
        return " No arm is above the untrained encoder on any task." if piloted else ""
    return f" Pretraining shows on {len(tasks)} of {len(results.tasks)} tasks: {'; '.join(map(_clause, tasks))}."


def _best_by_task(piloted: list[PilotedArm]) -> Iterator[PilotedArm]:
    for task in dict.fromkeys(one.task.task for one in piloted):
        yield max((one for one in piloted if one.task.task == task), key=lambda one: one.mean)


def _clause(one: PilotedArm) -> str:
    known = one.task.known
    above = [f"{TITLES[name]} {fixed(known[name], DECIMALS)}" for name in known if known[name] > one.mean]
    more = f", below {' and '.join(above)}" if above else ""
    untrained = fixed(known[UNTRAINED_ENCODER], DECIMALS)
    return f"{one.task.task} ({one.arm} {fixed(one.mean, DECIMALS)}, untrained {untrained}{more})"

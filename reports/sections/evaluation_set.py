"""The baseline's objective and the held-out evaluation set, the same for every arm and seed."""

from collections.abc import Collection, Iterable, Iterator

from reports.section import Section
from reports.statistics.evidence import Evidence
from steeplechase.ledger.records import Record, shared_evaluation_set, with_results
from steeplechase.ledger.stage_results import TokensResult

TERM, ENTROPY, OTHER = "Held-out evaluation set", "Unigram entropy", "Other held-out losses"
MASKED = "masked_language_model"


def evaluation_set_notes(
    shared: Iterable[Record],
    objective: str,
    *,
    tasks: bool,
    arms: Collection[str] = (),
    other_loss: Collection[str] = (),
) -> Iterator[tuple[str, str]]:
    """Yield the condition on the evaluation set, and the loss of token frequencies; none before these exist.

    `other_loss`: those of the arms that are measured on another evaluation set.
    """
    shared = tuple(shared)
    found = shared_evaluation_set(shared)
    if found is not None:
        tokens = "held-out masked tokens" if objective == MASKED else "held-out tokens"
        every = "all arms and seeds"
        who = f"all seeds of {', '.join(each for each in arms if each not in other_loss)}" if other_loss else every
        dev = f"{f'; {every} are evaluated' if other_loss else ' and'}, for each task, on the same dev examples"
        yield TERM, f"{who} are evaluated on the same {found.questions:,} {tokens}{dev if tasks else ''}"
    if other_loss:
        yield OTHER, "an arm with another held-out loss is measured on a set of its own, and compared on tasks alone"
    entropies = [result.validation_unigram_entropy for _, result in with_results(shared, TokensResult)]
    if objective == MASKED and entropies and entropies[-1] is not None:
        model = "a model that knows the token frequencies of the validation split alone"
        yield ENTROPY, f"{entropies[-1]:.3f} nats, the loss on a masked token of {model}"


def _conditions(evidence: Evidence) -> Iterator[tuple[str, str]]:
    results = evidence.results
    if results.experiment.pretrains:
        yield "Objective", results.experiment.baseline.objective.name
    yield from evaluation_set_notes(
        results.snapshot.shared,
        results.experiment.baseline.objective.evaluation,
        tasks=bool(results.tasks),
        arms=[arm.name for arm in results.arms],
        other_loss=results.snapshot.arms_with_other_loss,
    )


SECTION = Section("evaluation_set", conditions=_conditions)

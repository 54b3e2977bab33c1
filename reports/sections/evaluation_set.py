"""What arms are measured on: the baseline's objective and held-out evaluation set, and the sampled examples.

The intervals of differences are over seeds, and over the examples whose values were kept.
"""

from collections.abc import Collection, Iterable, Iterator

from reports.section import Section
from reports.statistics.metrics import Metric
from reports.statistics.results import Results
from search_space.objective import Objective
from search_space.objective.masked_language_model import Masking
from steeplechase.ledger.records import Record, shared_evaluation_set, with_results
from steeplechase.ledger.stage_results import TokensResult

TERM, ENTROPY, OTHER = "Held-out evaluation set", "Unigram entropy", "Other held-out losses"
MASKED = "masked_language_model"
SAMPLED, ALONE = "Sampled", "seeds alone, without the sampling error of the examples"


def evaluation_set_notes(
    shared: Iterable[Record],
    objective: str,
    *,
    tasks: bool,
    arms: Collection[str] = (),
    other_loss: Collection[str] = (),
    visible: float = 0.0,
) -> Iterator[tuple[str, str]]:
    """Yield the condition on the evaluation set, and the loss of token frequencies; none before these exist.

    `other_loss`: those of the arms that are measured on another evaluation set. `visible`: the share of the predicted
    tokens that keep their token, where the others are [MASK].
    """
    shared = tuple(shared)
    found = shared_evaluation_set(shared)
    if found is not None:
        tokens = "held-out predicted tokens" if objective == MASKED else "held-out tokens"
        every = "all arms and seeds"
        who = f"all seeds of {', '.join(each for each in arms if each not in other_loss)}" if other_loss else every
        dev = f"{f'; {every} are evaluated' if other_loss else ' and'}, for each task, on the same dev examples"
        yield TERM, f"{who} are evaluated on the same {found.questions:,} {tokens}{dev if tasks else ''}"
    if other_loss:
        yield OTHER, "an arm with another held-out loss is measured on a set of its own, and compared on tasks alone"
    entropies = [result.validation_unigram_entropy for _, result in with_results(shared, TokensResult)]
    if objective == MASKED and entropies and entropies[-1] is not None:
        entropy = entropies[-1]
        model = "a model that knows the token frequencies of the validation split alone"
        copied = f"; {(1 - visible) * entropy:.3f} if it also copies the {visible:.0%} that are left visible"
        yield ENTROPY, f"{entropy:.3f} nats, the loss on predicted tokens of {model}{copied if visible else ''}"


def _visible_share(objective: Objective) -> float:
    """Return the share of the predicted tokens that are left as they are; 0 where some are replaced at random."""
    if not isinstance(objective, Masking) or objective.random_token_share:
        return 0.0
    return 1 - objective.mask_token_share


def _conditions(results: Results) -> Iterator[tuple[str, str]]:
    if results.experiment.pretrains:
        yield "Objective", results.experiment.baseline.objective.name
    yield from evaluation_set_notes(
        results.snapshot.shared,
        results.experiment.baseline.objective.evaluation,
        tasks=bool(results.tasks),
        arms=[arm.name for arm in results.arms],
        other_loss=results.snapshot.arms_with_other_loss,
        visible=_visible_share(results.experiment.baseline.objective),
    )
    yield from _sampling(results)


def _sampling(results: Results) -> Iterator[tuple[str, str]]:
    """Yield what the differences of each metric are sampled over; nothing in a search or before there are values."""
    by_sample: dict[str, list[str]] = {}
    for metric in () if results.is_search else results.metrics:
        if any(metric.name in values for values in results.values.values()):
            by_sample.setdefault(_sampled(results, metric), []).append(metric.title)
    if [*by_sample] == [ALONE]:
        yield SAMPLED, f"all intervals are over {ALONE}"
    elif by_sample:
        text = "; ".join(f"{', '.join(titles)}: {sample}" for sample, titles in by_sample.items())
        yield SAMPLED, f"intervals of differences are over: {text}. All other intervals are over seeds alone"


def _sampled(results: Results, metric: Metric) -> str:
    sets = results.examples(metric.name)
    if not sets:
        return ALONE
    units = " and ".join(f"{each.count:,} {each.unit}" for each in sets)
    tested = [arm for arm, values in results.values.items() if len(values.get(metric.name, {})) > 1]
    lacking = results.without_examples(tested, metric)
    return f"seeds and {units}" + (f" (but not those of {', '.join(lacking)})" if lacking else "")


SECTION = Section("evaluation_set", conditions=_conditions)

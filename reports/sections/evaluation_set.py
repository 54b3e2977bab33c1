"""The held-out evaluation set, the same for every arm and seed."""

from collections.abc import Collection, Iterable, Iterator, Mapping

from search_space.candidate import Candidate
from search_space.overrides import difference
from steeplechase.configuration.arm import BASELINE
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.records import Record, shared_evaluation_set, with_results
from steeplechase.ledger.stage_results import TokensResult

TERM, ENTROPY, OTHER = "Held-out evaluation set", "Unigram entropy", "Other held-out losses"
TRAINED_OTHERWISE = "Objectives by arm"
PAIRS = "Pairs of segments"
PATH = "objective."
MASKED = "masked_language_model"


def segment_pair_notes(shared: Iterable[Record]) -> Iterator[tuple[str, str]]:
    """Yield how many training documents have no two segments, if an objective reads pairs."""
    for _, result in with_results(shared, TokensResult):
        single = result.train.single_sentence_documents
        if single is not None:
            text = f"{single:,} of {result.train.documents:,} training documents have one sentence"
            yield PAIRS, f"{text}; no pair of two segments of one document is made of them"


def objective_notes(arms: Mapping[str, Candidate], other_loss: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield the arms that are trained by another objective than the baseline's, and measured on the baseline's.

    `arms` has the candidates by arm; without a baseline among them nothing is yielded.
    """
    baseline = arms.get(BASELINE)
    measured = [] if baseline is None else [arm for arm in arms if arm not in other_loss]
    changes = {arm: _of_objective(difference(arms[BASELINE], arms[arm])) for arm in measured}
    named = [f"{arm} ({', '.join(each)})" for arm, each in changes.items() if each]
    if named:
        shared = "the held-out set is made by the baseline's objective"
        text = "trained on another, so that a difference in held-out loss is one of what is asked too"
        yield TRAINED_OTHERWISE, f"{shared}; {text}: {', '.join(named)}"


def _of_objective(changes: Mapping[str, JsonValue]) -> list[str]:
    """Return what changes in the objective, as text; the kind alone where that is another one."""
    if "objective" in changes:
        return [_kind(changes["objective"]).replace("_", " ")]
    paths = [path for path in changes if path.startswith(PATH)]
    return [f"{path.removeprefix(PATH).replace('_', ' ')} {_kind(changes[path])}" for path in paths]


def _kind(value: JsonValue) -> str:
    """Return an option by its kind alone, any other value as it is."""
    return str(value.get("kind", value) if isinstance(value, Mapping) else value)


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

"""The held-out evaluation set: the same for every arm and seed, so that no interval contains its sampling error."""

from collections.abc import Iterable, Iterator

from ledger.records import Record, with_results
from ledger.stage_results import EvaluationSetResult, TokensResult

TERM, ENTROPY, PAIRS = "Held-out evaluation set", "Unigram entropy", "Pairs of segments"
MASKED = "masked_language_model"


def segment_pair_notes(shared: Iterable[Record]) -> Iterator[tuple[str, str]]:
    """Yield how many training documents have no two segments, if an objective reads pairs."""
    for _, result in with_results(shared, TokensResult):
        single = result.train.single_sentence_documents
        if single is not None:
            text = f"{single:,} of {result.train.documents:,} training documents have one sentence"
            yield PAIRS, f"{text}; no pair of two segments of one document is made of them"


def evaluation_set_notes(shared: Iterable[Record], objective: str, tasks: bool) -> Iterator[tuple[str, str]]:
    """Yield the condition on the evaluation set, and the loss of token frequencies; none before these exist."""
    shared = tuple(shared)
    sets = [result for _, result in with_results(shared, EvaluationSetResult)]
    if sets:
        tokens = "held-out masked tokens" if objective == MASKED else "held-out tokens"
        dev = " and, for each task, on the same dev examples" if tasks else ""
        text = f"all arms and seeds are evaluated on the same {sets[-1].questions:,} {tokens}{dev}"
        yield TERM, f"{text}; intervals contain the variation between seeds, not the sampling error of this set"
    entropies = [result.validation_unigram_entropy for _, result in with_results(shared, TokensResult)]
    if objective == MASKED and entropies and entropies[-1] is not None:
        model = "a model that knows the token frequencies of the validation split alone"
        yield ENTROPY, f"{entropies[-1]:.3f} nats, the loss on a masked token of {model}"

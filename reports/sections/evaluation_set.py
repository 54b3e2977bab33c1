"""The held-out evaluation set, the same for every arm and seed: which intervals contain its sampling error."""

from collections.abc import Collection, Iterable, Iterator

from ledger.records import Record, shared_evaluation_set, with_results
from ledger.stage_results import TokensResult

TERM, ENTROPY, OTHER = "Held-out evaluation set", "Unigram entropy", "Other held-out losses"
PAIRS = "Pairs of segments"
MASKED = "masked_language_model"
SEEDS_ALONE = "intervals contain the variation between seeds, not the sampling error of this set"
SEEDS_AND_SEQUENCES = (
    "intervals of differences in held-out loss contain the variation between seeds and between its sequences, all "
    "other intervals the variation between seeds alone"
)


def segment_pair_notes(shared: Iterable[Record]) -> Iterator[tuple[str, str]]:
    """Yield how many training documents have no two segments, if an objective reads pairs."""
    for _, result in with_results(shared, TokensResult):
        single = result.train.single_sentence_documents
        if single is not None:
            text = f"{single:,} of {result.train.documents:,} training documents have one sentence"
            yield PAIRS, f"{text}; no pair of two segments of one document is made of them"


def evaluation_set_notes(
    shared: Iterable[Record], objective: str, *, tasks: bool, kept_losses: bool, other_loss: Collection[str] = ()
) -> Iterator[tuple[str, str]]:
    """Yield the condition on the evaluation set, and the loss of token frequencies; none before these exist.

    `kept_losses`: the losses of single predictions are kept, so that intervals are over seeds and sequences.
    `other_loss`: the arms that are measured on another evaluation set.
    """
    shared = tuple(shared)
    found = shared_evaluation_set(shared)
    if found is not None:
        tokens = "held-out masked tokens" if objective == MASKED else "held-out tokens"
        dev = " and, for each task, on the same dev examples" if tasks else ""
        arms = f"all arms but {', '.join(sorted(other_loss))}" if other_loss else "all arms"
        text = f"{arms} and seeds are evaluated on the same {found.questions:,} {tokens}{dev}"
        yield TERM, f"{text}; {SEEDS_AND_SEQUENCES if kept_losses else SEEDS_ALONE}"
    if other_loss:
        yield OTHER, "an arm with another held-out loss is measured on a set of its own, and compared on tasks alone"
    entropies = [result.validation_unigram_entropy for _, result in with_results(shared, TokensResult)]
    if objective == MASKED and entropies and entropies[-1] is not None:
        model = "a model that knows the token frequencies of the validation split alone"
        yield ENTROPY, f"{entropies[-1]:.3f} nats, the loss on a masked token of {model}"
